// What softmax and log_softmax share: x -> y of any shape, along one axis. Each has a file of its own, so that a build
// with one of them has the kernels of one.
#pragma once

#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {

inline Result<std::vector<TensorType>> infer_softmax(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  const uint32_t axis = std::get<AxisAttributes>(op.attributes).axis;
  if (axis >= inputs[0].shape.size()) {
    return does_not_fit("has no axis " + std::to_string(axis) + " in an input of " + to_text(inputs[0].shape));
  }
  return one_output(inputs[0].shape);
}

inline double softmax_flops(const OpInfo&, std::span<const Operand>, std::span<const TensorType> outputs) {
  return 5.0 * static_cast<double>(elements(outputs[0].shape));
}

inline kernels::SoftmaxShape softmax_settings(const OpBuild& build) {
  const Shape& x = build.input_shape(0);
  const uint32_t axis = build.attributes<AxisAttributes>().axis;
  return {elements(x, 0, axis), static_cast<size_t>(x[axis]), elements(x, axis + 1, x.size())};
}

using SoftmaxKind = StepKindOf<kernels::SoftmaxShape>;

inline void describe_softmax(const kernels::SoftmaxShape& s, SettingsText& text) { text.add("of", s.axis); }

// The lines of one part of a step that was cut.
struct SoftmaxPart {
  kernels::SoftmaxShape shape;
  size_t at;  // its first element
};

inline SoftmaxPart softmax_part(const Step& step) {
  const auto& s = step.as<kernels::SoftmaxShape>();
  return {{step.part.size(), s.axis, s.inner}, step.part.begin * s.axis * s.inner};
}

template <const SoftmaxKind& kKind>
void softmax_forward(OpBuild& build) {
  const kernels::SoftmaxShape shape = softmax_settings(build);
  build.emit(kKind, shape, {build.input(0), build.output()}, build.split(shape.outer));
  build.may_share(build.output(), build.input(0));
}

template <const SoftmaxKind& kKind>
void softmax_backward(OpBuild& build) {
  const BufferId dy = build.output_gradient(), dx = build.input_gradient(0);
  const kernels::SoftmaxShape shape = softmax_settings(build);
  build.emit(kKind, shape, {build.output(), dy, dx}, build.split(shape.outer));
  build.may_share(dx, dy);
}

}  // namespace coterie::ops
