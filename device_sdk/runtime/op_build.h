// OpBuild: what an op's rule is given to emit its steps.
//
// The compiler owns the bookkeeping of autodiff: which inputs need a gradient, that the gradients of a tensor that
// several ops read are summed, that a weight is updated when its last gradient is in and nobody reads it any more. A
// rule only says how its own gradients are computed, or that one passes through.
#pragma once

#include <initializer_list>

#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/program.h"

namespace coterie {

class GraphCompiler;

class OpBuild {
 public:
  OpBuild(GraphCompiler& compiler, size_t op_index) : compiler_(compiler), op_index_(op_index) {}

  const OpInfo& op() const;
  size_t batch() const;  // the largest batch: what scratch memory is sized for
  size_t input_count() const { return op().inputs.size(); }
  const Shape& input_shape(size_t i) const;
  const Shape& output_shape() const;

  // --- values
  BufferId input(size_t i) const;  // kNoBuffer if the op has no such input (an optional bias)
  BufferId output();
  // The output is the input under another shape.
  void output_is_input();
  // The output may be computed over the input: nobody reads the input afterwards.
  bool may_overwrite_input() const;

  // --- gradients; backward only
  BufferId output_gradient() const;
  bool needs_gradient(size_t i) const;
  // Where to write the whole gradient of input i; kNoBuffer if none is needed. Summing with other readers' gradients
  // happens afterwards.
  BufferId input_gradient(size_t i);
  // The gradient of input i is the output's, which may have been changed in place.
  void pass_gradient(size_t i);

  // --- fusion (fusion.h)
  bool applies_relu() const;           // dense, conv2d: the ReLU behind is applied here
  bool is_applied_by_producer() const; // relu, forward: nothing is left to do
  bool is_undone_by_consumer() const;  // relu, backward: the gradient that comes in is already masked
  bool undoes_relu() const;            // max pool, backward: mask for the ReLU in front

  // --- steps
  BufferId scratch(uint64_t bytes);  // for the steps of this op; kNoBuffer for 0 bytes
  template <typename Settings>
  void emit(StepFunction run, const Settings& settings, std::initializer_list<BufferId> buffers) {
    program().emit(run, settings, buffers);
  }

 private:
  Program& program();

  GraphCompiler& compiler_;
  size_t op_index_;
};

}  // namespace coterie
