// Gradients: how one of a model's outputs changes with its input, and with what it computes on the way.
//
// Forward as the model answers (dropout passes, batch norm has its running statistics), then backward from a gradient
// that is 1 at the output that is asked about, or that is given (Purpose::differentiate).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// Not thread-safe.
class Gradients {
 public:
  // By these tensors: inputs, or what ops write, whose first dimension is the batch. The model has one input, of
  // float32. Errors: invalid_argument (a tensor that has no gradient), too_large.
  static Result<Gradients> create(const Model& model, std::vector<uint32_t> tensors, uint32_t batch_size);
  Gradients(Gradients&&) noexcept;
  Gradients& operator=(Gradients&&) noexcept;
  ~Gradients();

  uint32_t batch_size() const;
  // `inputs`: at most batch_size whole examples. `picked`: below the width of the output. Errors: invalid_argument (an
  // index outside a table).
  Status run(std::span<const float> inputs, uint32_t picked);
  // By a sum of outputs: `output_gradients` has how much each output of each example counts, as many rows as `inputs`
  // has examples. Given a loss's gradient by the outputs, it is the loss's by the input.
  Status run(std::span<const float> inputs, std::span<const float> output_gradients);

  // What those examples had, one behind the other, until the next run. All zeros where the output does not depend on
  // the tensor, or only by ops that have no slope.
  std::span<const float> value(size_t tensor) const;
  std::span<const float> gradient(size_t tensor) const;

 private:
  struct State;
  explicit Gradients(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace coterie
