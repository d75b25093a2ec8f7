// InferenceRouter: what REST and gRPC have in common of an inference: which version answers, for how long a request may
// wait for a worker, and the candidate's shadow behind it. The doors read and write their protocols. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "fl_server/serving/inference_workers.h"
#include "fl_server/serving/served_models.h"

namespace coterie {

class SocketPass;

// What a network thread computes itself between two looks at its sockets: others wait for so long at most.
inline constexpr std::chrono::nanoseconds kAtOnceMax{200'000};

struct InferenceRouterSettings {
  uint32_t canary_percent = 0;  // of requests that name no version: to the latest, where another is promoted
  bool has_shadow = false;      // the latest computes beside the promoted one; it is compared, and never returned
  Millis wait_max{10'000};      // of a request for a worker, unless it says less itself
  std::chrono::nanoseconds at_once_max = kAtOnceMax;
};

class InferenceRouter {
 public:
  struct Question {
    std::string_view model, version;  // of the version none: the one for whoever names none
    std::string_view caller;          // the tenant
  };
  struct Computed {
    std::shared_ptr<ServedVersion> version;  // that answered
    std::vector<TensorValues> outputs;       // of the request's rows: the client interface's
  };
  using Done = std::function<void(Result<Computed>)>;
  // Who answers a request, and until when it may wait for that.
  struct Routed {
    ServedModels::Choice chosen;
    Instant deadline;
  };

  // What is referred to outlives it.
  InferenceRouter(InferenceRouterSettings settings, ServedModels& models, InferenceWorkers& workers,
                  ServingMetrics& metrics)
      : settings_(settings), models_(models), workers_(workers), metrics_(metrics) {}

  // Once a request. `found`: the version whose client interface it was read by. Errors: ServedModels::choose.
  Result<Routed> route(const Question& question, std::shared_ptr<ServedVersion> found, const InferRequest& request);
  // On the caller's thread, whose `pass` it is, if that is quick (ComputeCost) and no worker is needed for it
  // (InferenceWorkers::compute_at_once); then the request is used up. None: nothing has changed, and answer() is to be
  // called.
  std::optional<Result<Computed>> answer_at_once(const Routed& routed, InferRequest& request, SocketPass& pass);
  // Calls `done` once, at once or on a worker's thread. Errors: InferenceWorkers::submit, those of the steps behind the
  // model.
  void answer(Routed routed, InferRequest request, Done done);

  Millis wait_max() const { return settings_.wait_max; }

 private:
  static Result<Computed> answer_of(std::shared_ptr<ServedVersion> version, std::vector<float> values, uint64_t rows);
  Result<ServedModels::Choice> choose(const Question& question, const std::optional<std::string>& id);
  void shadow(std::shared_ptr<ServedVersion> candidate, InferRequest request, std::vector<float> shown,
              Instant deadline);

  const InferenceRouterSettings settings_;
  ServedModels& models_;
  InferenceWorkers& workers_;
  ServingMetrics& metrics_;
  std::atomic<uint64_t> unnamed_{0};  // requests without an id
};

}  // namespace coterie
