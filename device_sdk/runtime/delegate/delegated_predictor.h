// DelegatedPredictor: a Predictor some of whose parts a delegate computes, while it computes what our kernels would.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"
#include "device_sdk/runtime/delegate/device_buffers.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/delegate/verification.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

struct DelegateSettings {
  uint32_t batch_size = 1;
  uint32_t threads = 1;              // of our kernels, and at most of the delegate's
  bool takes_whatever_cost = false;  // PartitionSettings
  uint64_t arena_bytes_max = limits::kArenaBytesMax;
};

// Which op is where, and what it costs.
struct DelegateReport {
  struct Part {
    PlannedPart plan;
    std::string refusal;                   // why our kernels compute it after all; empty: the delegate does
    std::optional<VerifiedPart> verified;  // none before the first run
    BorderCopies copies;
    // A training alone has these: its gradients in norm (gradient_check.h), none before the first; how many batches
    // were held against ours; and what differed in the last of them, while the next batches decide.
    std::optional<VerifiedPart> gradients = {};
    uint64_t checks = 0;
    std::string unsettled = {};
  };
  DelegateTraits traits;
  std::vector<Part> parts;
  std::vector<OwnOp> own;
  double flops = 0;  // of a run, all ops

  double delegated_flops() const;  // of which those of parts that are not refused
};

// Not thread-safe. The first run() is slow: it verifies (verification.h). A part that fails, then or later, is computed
// by our kernels from then on, and the batch anew, so that a caller sees right results or an error of our own.
class DelegatedPredictor {
 public:
  // The delegate outlives it. Errors: those of Predictor::create. A part that the delegate does not compile is refused.
  static Result<DelegatedPredictor> create(const Model& model, Delegate& delegate, const DelegateSettings& settings);
  DelegatedPredictor(DelegatedPredictor&&) noexcept;
  DelegatedPredictor& operator=(DelegatedPredictor&&) noexcept;
  ~DelegatedPredictor();

  // As Predictor::run.
  Status run(std::span<const std::span<const float>> inputs, uint64_t count, std::span<float> output);
  DelegateReport report() const;

 private:
  struct State;
  explicit DelegatedPredictor(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace coterie
