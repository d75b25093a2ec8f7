// InferenceRouter: what REST and gRPC have in common of an inference: which version answers, for how long a request may
// wait for a worker, and the candidate's shadow behind it. The doors read and write their protocols. Thread-safe.
#pragma once

#include <atomic>
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

struct InferenceRouterSettings {
  uint32_t canary_percent = 0;  // of requests that name no version: to the latest, where another is promoted
  bool has_shadow = false;      // the latest computes beside the promoted one; it is compared, and never returned
  Millis wait_max{10'000};      // of a request for a worker, unless it says less itself
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

  // What is referred to outlives it.
  InferenceRouter(InferenceRouterSettings settings, ServedModels& models, InferenceWorkers& workers,
                  ServingMetrics& metrics)
      : settings_(settings), models_(models), workers_(workers), metrics_(metrics) {}

  // `found`: the version whose client interface the request was read by. Calls `done` once, at once or on a worker's
  // thread. Errors: ServedModels::choose, InferenceWorkers::submit, those of the steps behind the model.
  void answer(const Question& question, std::shared_ptr<ServedVersion> found, InferRequest request, Done done);

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
