// TrainingDelegation: the parts of a training that a delegate computes. Trainer::create takes it.
//
//   TrainingDelegation delegation(*delegate, {});
//   Trainer trainer = Trainer::create(model, options, examples, delegation);
//
// What it is not given: dropout; batch norms that follow their batches; and all of a training that counts on int8 (qat)
// or holds values as bfloat16. The report says so of each op. Frozen parameters, micro-batches, a memory limit,
// sparse updates and clipping work as ever. The results are not the bits of our kernels, and checkpoints are the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"
#include "device_sdk/runtime/delegate/delegated_predictor.h"
#include "device_sdk/runtime/training_parts.h"

namespace coterie {

struct TrainingDelegationSettings {
  bool takes_whatever_cost = false;  // PartitionSettings
};

class TrainingDelegation final : public TrainingParts {
 public:
  // The delegate outlives it and the trainer.
  explicit TrainingDelegation(Delegate& delegate, const TrainingDelegationSettings& settings = {});
  ~TrainingDelegation() override;

  // Errors: invalid_argument (a training with heads); those of trainable_tensors and traits_of.
  Status begin(const Model& model, const TrainOptions& options) override;
  Result<const ExternalParts*> parts_for(uint32_t batch_size) override;
  bool has_given_up() override;

  // One for each batch size, in the order in which their programs were compiled. A report's flops are of one
  // forward. A part's `verified` is of its last check, and so is `gradients`.
  struct Batch {
    uint32_t batch_size = 0;
    DelegateReport report;
  };
  std::vector<Batch> report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coterie
