#include "tools/serve/serving_worker.h"

#include <fcntl.h>

#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "fl_server/serving/merged_exposition.h"
#include "fl_server/serving/metrics_board.h"
#include "tools/cli/interrupt.h"
#include "tools/serve/serving_process.h"
#include "tools/serve/worker_link.h"

namespace coterie {
namespace {

constexpr std::chrono::milliseconds kMetricsEvery{500};  // so old are other processes' figures at most

// What the master said last.
class ToldSource final : public ModelSource {
 public:
  void tell(LinkMessage message) {
    promoted_ = message.promoted;
    message_ = std::move(message);
  }
  Result<std::optional<SourcedVersion>> next() override {
    if (!message_ || message_->kind != LinkMessage::Kind::version) return std::optional<SourcedVersion>();
    const LinkMessage message = *std::exchange(message_, std::nullopt);
    COT_ASSIGN(const uint64_t size, message.file.size());
    if (size > FileSource::kFileBytesMax) return Error(ErrorCode::too_large, "a model of more than 4 GiB");
    Bytes bytes(size);
    COT_TRY(message.file.read_exact_at(0, bytes));
    return std::optional(SourcedVersion{std::move(bytes), message.number});
  }
  std::optional<uint64_t> promoted() const override { return promoted_; }

 private:
  std::optional<LinkMessage> message_;
  std::optional<uint64_t> promoted_;
};

// This process's figures as they are now, and the others' as they were a moment ago.
std::string metrics_of_all(const MetricsBoard& board, uint32_t number, const std::string& own) {
  std::vector<ProcessExposition> all;
  for (size_t slot = 0; slot < board.slots(); ++slot) {
    const std::string process = slot == 0 ? "" : std::to_string(slot);  // the first is the master's
    all.push_back({process, slot == number ? own : board.read(slot)});
  }
  return merged_exposition(all);
}

// Writes this process's figures onto the board, again and again: the master takes that for its pulse. So it stays away
// from the board while a network thread does not come round, which holds up all who are connected to it.
class MetricsWriter {
 public:
  MetricsWriter(MetricsBoard& board, uint32_t number, ServingProcess& process)
      : thread_([this, &board, number, &process](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          while (!stop.stop_requested()) {
            if (process.shows_life()) board.write(number, process.metrics());
            wake_.wait_for(lock, stop, kMetricsEvery, [] { return false; });
          }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

class Worker {
 public:
  Worker(const WorkerPlace& place, const WorkerLink& link, ServingProcess& process)
      : place_(place), link_(link), process_(process) {}

  Status run() {
    for (;;) {
      COT_TRY(Interrupt::wait_for_input(link_.fd()));
      Result<std::optional<LinkMessage>> message = link_.receive();
      if (!message) return {};  // the master is gone, and with it who would start another in this one's place
      if (*message) COT_TRY(take(std::move(**message)));
    }
  }

 private:
  Status take(LinkMessage message) {
    const LinkMessage::Kind kind = message.kind;
    const uint64_t number = message.number;
    source_.tell(std::move(message));
    if (kind == LinkMessage::Kind::open) {
      std::optional<uint16_t> grpc;
      if (place_.grpc_port != 0) grpc = place_.grpc_port;
      COT_TRY(process_.open({.rest_socket = place_.rest_socket, .grpc_port = grpc, .shares_grpc_port = true}));
      is_open_ = true;
      (void)link_.send({.kind = LinkMessage::Kind::opened});
      return {};
    }
    const auto followed = process_.follow(source_);
    if (!followed && !is_open_) return followed.error();
    if (kind != LinkMessage::Kind::version) return {};
    // Where the master is gone, the next look says so.
    if (followed) (void)link_.send({.kind = LinkMessage::Kind::served, .number = number});
    else (void)link_.send({.kind = LinkMessage::Kind::refused, .number = number, .text = followed.error().message()});
    return {};
  }

  const WorkerPlace place_;
  const WorkerLink& link_;
  ServingProcess& process_;
  ToldSource source_;
  bool is_open_ = false;
};

}  // namespace

std::string WorkerPlace::text() const {
  std::string text = std::to_string(number);
  for (const int one : {link, rest_socket, board, static_cast<int>(grpc_port)}) text += "," + std::to_string(one);
  return text;
}

std::optional<std::string> WorkerPlace::in_environment() {
  const char* const value = std::getenv(kVariable);
  if (value == nullptr) return {};
  return value;
}

Result<WorkerPlace> WorkerPlace::parse(const std::string& text) {
  const Error wrong(ErrorCode::invalid_argument, std::string(kVariable) + ": \"" + text +
                                                     "\" is not what a serving master tells its processes: unset it");
  int numbers[5] = {};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (size_t i = 0; i < std::size(numbers); ++i) {
    if (i > 0 && (at == end || *at++ != ',')) return wrong;
    const auto [behind, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc() || numbers[i] < 0) return wrong;
    at = behind;
  }
  if (at != end || numbers[0] == 0 || numbers[4] > UINT16_MAX) return wrong;
  for (size_t i = 1; i <= 3; ++i) {
    if (::fcntl(numbers[i], F_SETFD, FD_CLOEXEC) != 0) return wrong;
  }
  return WorkerPlace{.number = static_cast<uint32_t>(numbers[0]),
                     .link = numbers[1],
                     .rest_socket = numbers[2],
                     .board = numbers[3],
                     .grpc_port = static_cast<uint16_t>(numbers[4])};
}

Status serve_as_worker(const ServeOptions& options, const WorkerPlace& place) {
  // Closed last: the master takes its end for the end of this process, and waits for that.
  const WorkerLink link(os::File(place.link, "link"));
  COT_ASSIGN(MetricsBoard board, MetricsBoard::open(os::File(place.board, "metrics board")));
  if (place.number >= board.slots())
    return Error(ErrorCode::invalid_argument,
                 std::string(WorkerPlace::kVariable) + ": no place on the board of metrics");
  ServingKeys keys;
  if (!options.is_insecure) {
    COT_ASSIGN(keys, reopen_serving_keys(options));
  }
  COT_ASSIGN(const auto process,
             ServingProcess::make(options, keys, [&board, number = place.number](const std::string& own) {
               return metrics_of_all(board, number, own);
             }));
  const MetricsWriter writer(board, place.number, *process);
  Worker worker(place, link, *process);
  const Status ended = worker.run();
  process->stop();
  return ended;
}

}  // namespace coterie
