#include "fl_server/serving/grpc/infer_call.h"

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/os/clock.h"

namespace coterie {
namespace {

constexpr Millis kLookEvery{100};

}  // namespace

MessageWatch::MessageWatch(Millis message_max)
    : message_max_(message_max), thread_([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, stop, [this] { return !deadlines_.empty(); });
            wake_.wait_for(lock, stop, kLookEvery, [] { return false; });
          }
          end_late();
        }
      }) {}

void MessageWatch::begin(InferCall& call) {
  {
    const std::lock_guard lock(mutex_);
    deadlines_.emplace(&call, os::monotonic_now() + message_max_);
  }
  wake_.notify_one();
}

bool MessageWatch::end(InferCall& call) {
  const std::lock_guard lock(mutex_);
  return deadlines_.erase(&call) > 0;
}

// Whoever is out of the list is nobody else's to end.
void MessageWatch::end_late() {
  std::vector<InferCall*> late;
  {
    const std::lock_guard lock(mutex_);
    const Instant now = os::monotonic_now();
    std::erase_if(deadlines_, [&](const auto& call) {
      if (call.second > now) return false;
      late.push_back(call.first);
      return true;
    });
  }
  for (InferCall* const call : late) {
    call->Finish({grpc::StatusCode::DEADLINE_EXCEEDED,
                  "the message did not come within " + std::to_string(message_max_.count()) + " ms"});
  }
}

void InferCall::read_message() {
  watch_.begin(*this);
  StartRead(&message_);
}

void InferCall::OnReadDone(bool ok) {
  if (!watch_.end(*this)) return;
  if (ok) return ask_(*this);
  Finish({grpc::StatusCode::INVALID_ARGUMENT, "the call has no message"});
}

void InferCall::answer(grpc::ByteBuffer answer) {
  answer_ = std::move(answer);
  StartWriteAndFinish(&answer_, {}, grpc::Status::OK);
}

}  // namespace coterie
