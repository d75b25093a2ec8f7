// InferCall: one ModelInfer on its way. Its message is read once it is known who sends it, and within a time: for what
// the library reads by itself nobody can say how long it may take.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "base/time.h"

namespace coterie {

class InferCall;

// Calls whose messages are still to come. Thread-safe.
class MessageWatch {
 public:
  // A message may take so long.
  explicit MessageWatch(Millis message_max);

  void begin(InferCall& call);
  // The message came, or will not. False: it was too late, and the call has ended.
  bool end(InferCall& call);

 private:
  void end_late();

  const Millis message_max_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::unordered_map<InferCall*, Instant> deadlines_;  // guarded
  std::jthread thread_;
};

// It deletes itself when it is done.
class InferCall final : public grpc::ServerGenericBidiReactor {
 public:
  // `ask` looks at the message and has the call end, soon or later. What is referred to outlives the call.
  InferCall(MessageWatch& watch, const grpc::CallbackServerContext& context, std::function<void(InferCall&)> ask)
      : watch_(watch), context_(context), ask_(std::move(ask)) {}

  void read_message();
  const grpc::ByteBuffer& message() const { return message_; }
  const grpc::CallbackServerContext& context() const { return context_; }
  // One of both, once; Finish() is the other.
  void answer(grpc::ByteBuffer answer);

 private:
  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

  MessageWatch& watch_;
  const grpc::CallbackServerContext& context_;
  const std::function<void(InferCall&)> ask_;
  grpc::ByteBuffer message_, answer_;
};

}  // namespace coterie
