// Profiler: where the time of a training step goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/step_info.h"
#include "device_sdk/runtime/step_tracer.h"
#include "device_sdk/runtime/train_options.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {

// Medians over the steps that were measured, in seconds.
struct OpTime {
  std::string name;
  std::string kind;             // to_string(OpKind); "loss" and "update" for what is no op's
  double forward_seconds = 0;   // with fused activations: that of the op they are fused into
  double backward_seconds = 0;  // of the update: all of it
  double forward_flops = 0;     // of the whole batch, a multiply-add counted as two; 0 for loss and update
  std::string algorithm = {};   // of a convolution's forward pass (train_kernels/conv2d_algorithm.h)
  uint32_t origin = 0;          // as StepInfo has it
};

struct TrainingProfile {
  std::vector<OpTime> ops;  // in the graph's order, those that compute nothing left out; then the loss and the update
  double step_seconds = 0;  // without reading examples
  double forward_flops = 0;
  TrainingMemory memory;
  std::vector<StepInfo> steps;  // of the program that was measured, all phases
};

// Trains on random examples, options.batch_size at a time in one piece, `steps` times (at least 1) and once more before
// them, unmeasured. `seconds_now` is a monotonic clock, which all threads read if there is a `trace`: it
// is filled, with memory if `resident_bytes` is not null. Errors: as Trainer::create.
Result<TrainingProfile> profile_training(const Model& model, const TrainOptions& options, uint32_t steps,
                                         double (*seconds_now)(), TrainingTrace* trace = nullptr,
                                         uint64_t (*resident_bytes)() = nullptr);

}  // namespace coterie
