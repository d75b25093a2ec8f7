// PartTrainer: trains a part of a network whose loss lies elsewhere: at the other end of a split network, or with a
// caller that computes it. Forward gives the part's output; backward takes the gradient of that output, moves the
// parameters, and gives the gradients of the inputs that were asked for.
//
// Two trainers with the same model, options, inputs and gradients hold the same bits after every step, on one
// instruction set; so does one that went through state() and restore().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/model.h"
#include "proto/messages/plan.h"

namespace coterie {

struct PartOptions {
  OptimizerSettings optimizer;
  uint32_t batch_size = 32;                         // rows of a step at most
  std::vector<uint32_t> inputs_with_gradient = {};  // of the model's inputs, by number; float32
  uint64_t arena_bytes_max = limits::kArenaBytesMax;
};

// Not thread-safe. Allocates in create(), state() and restore() alone.
class PartTrainer {
 public:
  // invalid_argument: batch_size 0, an optimizer out of range, an output or an input with a gradient that is not
  // float32. too_large.
  static Result<PartTrainer> create(const Model& model, const PartOptions& options);
  PartTrainer(PartTrainer&&) noexcept;
  PartTrainer& operator=(PartTrainer&&) noexcept;
  ~PartTrainer();

  // inputs[i] has `count` rows of the model's input i, at most batch_size, one behind the other; those of an int32
  // input are the same bytes seen as float. `output` gets as many of the output's shape. invalid_argument for a size
  // that is wrong, or an index outside a table.
  Status forward(std::span<const std::span<const float>> inputs, uint64_t count, std::span<float> output);

  // Behind a forward() of the same rows, once. `output_gradient` has their outputs' size; gradients[k] gets the
  // gradient of inputs_with_gradient[k], rows in order; zeros for an input that the output does not depend on.
  Status backward(std::span<const float> output_gradient, std::span<const std::span<float>> gradients);

  uint64_t steps() const;  // backward() calls so far
  std::span<const float> parameters() const;
  // Parameters, then the optimizer's slots. restore(): invalid_argument for another size, or a value that is not
  // finite.
  std::vector<float> state() const;
  Status restore(uint64_t steps, std::span<const float> state);

 private:
  struct State;
  explicit PartTrainer(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace coterie
