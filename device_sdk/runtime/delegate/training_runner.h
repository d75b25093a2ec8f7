// TrainingRunner: one part of a training that a delegate has compiled, as two steps of our program. It verifies the
// first batch, and then those by whose number the batches have doubled; it gives up for good at the first failure: who
// owns the program then compiles it without the part, and does the step again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device_sdk/runtime/delegate/delegate.h"
#include "device_sdk/runtime/delegate/device_buffers.h"
#include "device_sdk/runtime/delegate/guarded_buffer.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/delegate/verification.h"
#include "device_sdk/runtime/external_part.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

class TrainingRunner {
 public:
  struct Settings {
    uint32_t batch_size = 1;
    uint32_t threads = 1;
    std::vector<bool> is_trained = {};  // per tensor
  };
  // The delegate outlives it. Errors: what the delegate gives, or throws.
  static Result<std::shared_ptr<TrainingRunner>> create(const Model& model, Delegate& delegate, const PlannedPart& part,
                                                        Settings settings);
  ~TrainingRunner();
  TrainingRunner(const TrainingRunner&) = delete;

  // Each keeps the runner alive.
  static std::shared_ptr<ExternalStep> forward_step(const std::shared_ptr<TrainingRunner>& runner);
  static std::shared_ptr<ExternalStep> backward_step(const std::shared_ptr<TrainingRunner>& runner);

  const std::string& refusal() const { return refusal_; }                      // why it is given up; empty: it is not
  const std::optional<VerifiedPart>& verified() const { return verified_; }    // its values, when last held
  const std::optional<VerifiedPart>& gradients() const { return gradients_; }  // likewise, in norm
  // Why gradients of its last check were ours, while the next batches decide; empty: they were its own.
  const std::string& unsettled() const { return unsettled_; }
  uint64_t checks() const { return checks_; }             // batches that were held against ours, forward and backward
  const BorderCopies& copies() const { return copies_; }  // runs: batches

 private:
  // The kinds of a part's buffers, in the order in which the program gives them (external_part.h).
  enum Group : uint8_t { kInputs, kParameters, kOutputs, kOutputGradients, kGradients, kGroups };
  struct Forward final : ExternalStep {
    TrainingRunner* runner = nullptr;
    const char* run(float* const* buffers) override;
  };
  struct Backward final : ExternalStep {
    TrainingRunner* runner = nullptr;
    const char* run(float* const* buffers) override;
  };
  using Lent = std::vector<GuardedBuffer>;

  TrainingRunner(Model model, PlannedPart part, Settings settings);

  const std::vector<uint32_t>& tensors(size_t group) const;
  size_t first(size_t group) const;  // buffer
  bool is_due() const;
  Status forward(float* const* buffers);
  Status backward(float* const* buffers);
  Status verify_forward(float* const* buffers);
  Status verify_backward(float* const* buffers);
  Status call(bool is_forward, float* const* buffers);
  Lent lend(float* const* buffers, size_t groups, size_t written) const;
  Status check_lent(const Lent& lent, float* const* buffers, size_t written) const;
  std::vector<float> present_values(float* const* buffers) const;
  std::vector<std::span<const float>> views(float* const* buffers, size_t group) const;

  const Model model_;
  const PlannedPart part_;
  const Settings settings_;
  std::vector<uint64_t> elements_;  // of each buffer
  DeviceBuffers device_;            // likewise; none where the domain is host
  std::unique_ptr<TrainingPart> compiled_;
  Forward forward_;
  Backward backward_;
  bool checks_batch_ = false;  // the one that runs
  uint64_t checks_ = 0;
  std::string unsettled_;
  int gradient_failures_ = 0;  // in a row
  std::optional<VerifiedPart> verified_, gradients_;
  std::string refusal_;
  BorderCopies copies_;
};

}  // namespace coterie
