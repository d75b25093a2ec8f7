// What a batch of training comes to on this machine: the steps of the compiled program (device_sdk/runtime/program.h),
// under the names that the model has for its ops and tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/step_info.h"
#include "tools/model/step_names.h"

namespace coterie {

struct ListedStep {
  std::string op;  // its name in the model; "loss", "update"
  StepInfo info;
  std::vector<ListedOperand> operands;  // as info has them
};

struct StepListing {
  std::string model;
  uint32_t batch_size = 0;
  uint64_t planned_bytes = 0;  // which activations, gradients and scratch share
  std::vector<ListedStep> steps;
};

// Training is by plain SGD and softmax_cross_entropy here, in one thread. Errors: too_large; invalid_argument, where
// that loss does not fit the model.
Result<StepListing> list_steps(const Model& model, uint32_t batch_size);

}  // namespace coterie
