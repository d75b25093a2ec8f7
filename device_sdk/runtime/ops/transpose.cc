// transpose: dimension i of y is dimension order[i] of x; expand: x broadcasts to a shape. Both take any type.
#include <array>

#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"
#include "device_sdk/runtime/ops/strided.h"

namespace coterie::ops {
namespace {

Result<std::vector<TensorType>> infer_transpose(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_one_input(inputs));
  const auto& order = std::get<TransposeAttributes>(op.attributes).order;
  const Shape& x = inputs[0].shape;
  COT_TRY(check_rank(inputs[0], "input", 1, kernels::kRankMax));
  std::array<bool, kernels::kRankMax> is_taken{};
  Shape y;
  for (const int64_t d : order) {
    const bool exists = d >= 0 && d < static_cast<int64_t>(x.size());
    if (!exists || is_taken[static_cast<size_t>(d)]) break;
    is_taken[static_cast<size_t>(d)] = true;
    y.push_back(x[static_cast<size_t>(d)]);
  }
  if (y.size() != x.size() || order.size() != x.size()) {
    return does_not_fit(concat({"order is no permutation of the ", x.size(), " dimensions"}));
  }
  return one_output(std::move(y), inputs[0].type);
}

// dims: of what is read.
Copy transposing(const Shape& dims, std::span<const int64_t> order) {
  const std::vector<size_t> sizes = sizes_of(dims);
  const std::vector<size_t> from(order.begin(), order.end());
  return {.loops = kernels::transpose_loops(sizes, from)};
}

void forward_transpose(OpBuild& build) {
  const auto& order = build.attributes<TransposeAttributes>().order;
  build.emit(kCopyStep, transposing(build.input_shape(0), order), {build.input(0), build.output()});
}

void backward_transpose(OpBuild& build) {
  const auto& order = build.attributes<TransposeAttributes>().order;
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  build.emit(kCopyStep, transposing(build.output_shape(), back), {build.output_gradient(), build.input_gradient(0)});
}

Result<std::vector<TensorType>> infer_expand(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_one_input(inputs));
  const Shape& wanted = std::get<ShapeAttributes>(op.attributes).shape;
  COT_TRY(element_count(wanted));
  COT_ASSIGN(Shape y, broadcast_shape({inputs[0].shape, wanted}));
  return one_output(std::move(y), inputs[0].type);
}

kernels::BinaryLoops expand_loops(const OpBuild& build) {
  const std::vector<size_t> x = sizes_of(build.input_shape(0)), y = sizes_of(build.output_shape());
  return *kernels::broadcast_loops<2>({x, y});
}

void forward_expand(OpBuild& build) {
  const kernels::BinaryLoops loops = expand_loops(build);
  Copy copy;
  copy.loops.rank = loops.rank;
  copy.loops.size = loops.size;
  copy.loops.stride = {loops.stride[0], loops.stride[2]};
  build.emit(kCopyStep, copy, {build.input(0), build.output()});
}

// The gradient of a broadcast operand is that of a sum with it.
void run_expand_backward(const Step& step, const StepContext& context) {
  const auto& [dy, dx] = step.take<2>();
  context.kernels.binary_backward(kernels::Binary::add, 0, step.as<kernels::BinaryLoops>(), nullptr, nullptr, dy, dx);
}

constexpr StepKindOf<kernels::BinaryLoops> kExpandBackwardStep{"expand.backward", run_expand_backward};

void backward_expand(OpBuild& build) {
  if (build.input_shape(0) == build.output_shape()) return build.pass_gradient(0);
  build.emit(kExpandBackwardStep, expand_loops(build), {build.output_gradient(), build.input_gradient(0)});
}

}  // namespace

const OpRule kTranspose{OpKind::transpose, infer_transpose, no_flops, forward_transpose, backward_transpose};
const OpRule kExpand{OpKind::expand, infer_expand, no_flops, forward_expand, backward_expand};

}  // namespace coterie::ops
