// PartGradients: the gradients of a part of a training, by our kernels: what a delegate's are held against.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// Not thread-safe.
class PartGradients {
 public:
  // Compiles the part once for each of its output gradients. Errors: those of Model::load, too_large.
  static Result<PartGradients> create(const Model& model, const PlannedPart& part, uint32_t batch_size);
  PartGradients(PartGradients&&) noexcept;
  PartGradients& operator=(PartGradients&&) noexcept;
  ~PartGradients();

  // `values`: the whole model's flat vector. inputs[i] is of part.inputs[i], output_gradients and gradients likewise,
  // each with its tensor's elements at the batch size. Errors: malformed (an index outside a table).
  Status run(std::span<const float> values, std::span<const std::span<const float>> inputs,
             std::span<const std::span<const float>> output_gradients, std::span<const std::span<float>> gradients);

 private:
  struct State;
  explicit PartGradients(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace coterie
