// concat: any number of operands, one behind the other along an axis; split: x cut along an axis, one output a size.
// Both take any type.
#include <utility>

#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"
#include "device_sdk/runtime/ops/strided.h"

namespace coterie::ops {
namespace {

Status check_axis(uint32_t axis, const Shape& x) {
  if (axis < x.size()) return {};
  return does_not_fit(concat({"has no axis ", axis, " in an input of ", to_text(x)}));
}

Result<std::vector<TensorType>> infer_concat(const OpInfo& op, std::span<const Operand> inputs) {
  if (inputs.empty()) return does_not_fit("has no inputs");
  const uint32_t axis = std::get<AxisAttributes>(op.attributes).axis;
  Shape y = inputs[0].shape;
  COT_TRY(check_axis(axis, y));
  y[axis] = 0;
  for (const Operand& input : inputs) {
    Shape part = input.shape;
    const int64_t size = axis < part.size() ? std::exchange(part[axis], y[axis]) : 0;
    if (!input.is_present || input.type != inputs[0].type || part != y) {
      return does_not_fit(concat({"joins ", to_text(inputs[0].shape), " and ", to_text(input.shape), " along axis ",
                                  axis, ", or another type"}));
    }
    y[axis] += size;
  }
  return one_output(std::move(y), inputs[0].type);
}

Result<std::vector<TensorType>> infer_split(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_one_input(inputs));
  const auto& a = std::get<SplitAttributes>(op.attributes);
  COT_TRY(check_axis(a.axis, inputs[0].shape));
  int64_t rest = inputs[0].shape[a.axis];
  std::vector<TensorType> outputs;
  for (const int64_t size : a.sizes) {
    if (size < 1 || size > rest) break;
    rest -= size;
    outputs.push_back({inputs[0].type, inputs[0].shape});
    outputs.back().shape[a.axis] = size;
  }
  if (rest != 0 || outputs.size() != a.sizes.size()) {
    return does_not_fit(concat({"sizes do not add up to the ", inputs[0].shape[a.axis], " along axis ", a.axis}));
  }
  return outputs;
}

// Each part, of so many positions along the axis, into the whole.
Parts parts_of(const Shape& whole, size_t axis, std::span<const int64_t> sizes) {
  const size_t rows = elements(whole, 0, axis), inner = elements(whole, axis + 1, whole.size());
  const auto stride = static_cast<ptrdiff_t>(elements(whole, axis, whole.size()));
  Parts parts{.copies = {}, .count = elements(whole)};
  ptrdiff_t offset = 0;
  for (const int64_t size : sizes) {
    // The whole is a matrix [rows, stride], row-major; a part is `run` of its columns.
    const size_t run = static_cast<size_t>(size) * inner;
    Copy copy{.loops = {}, .y_offset = offset};
    copy.loops.rank = 2;
    copy.loops.size = {rows, run};
    copy.loops.stride[0] = {static_cast<ptrdiff_t>(run), 1};
    copy.loops.stride[1] = {stride, 1};
    parts.copies.push_back(copy);
    offset += static_cast<ptrdiff_t>(run);
  }
  return parts;
}

Parts concat_parts(const OpBuild& build) {
  const uint32_t axis = build.attributes<AxisAttributes>().axis;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < build.input_count(); ++i) sizes.push_back(build.input_shape(i)[axis]);
  return parts_of(build.output_shape(), axis, sizes);
}

void forward_concat(OpBuild& build) {
  std::vector<BufferId> buffers;
  for (size_t i = 0; i < build.input_count(); ++i) buffers.push_back(build.input(i));
  buffers.push_back(build.output());
  build.emit(kJoinStep, concat_parts(build), std::span<const BufferId>(buffers));
}

void backward_concat(OpBuild& build) {
  const Parts parts = concat_parts(build);
  for (size_t i = 0; i < build.input_count(); ++i) {
    if (!build.needs_gradient(i)) continue;
    build.emit(kCopyStep, parts.copies[i].reversed(), {build.output_gradient(), build.input_gradient(i)});
  }
}

Parts split_parts(const OpBuild& build) {
  const auto& a = build.attributes<SplitAttributes>();
  return parts_of(build.input_shape(0), a.axis, a.sizes);
}

void forward_split(OpBuild& build) {
  const Parts parts = split_parts(build);
  for (size_t i = 0; i < parts.copies.size(); ++i) {
    if (!build.has_output(i)) continue;
    build.emit(kCopyStep, parts.copies[i].reversed(), {build.input(0), build.output(i)});
  }
}

// An output without influence on the loss has no gradient: it is 0.
void backward_split(OpBuild& build) {
  const Parts parts = split_parts(build);
  std::vector<BufferId> buffers;
  for (size_t i = 0; i < parts.copies.size(); ++i) buffers.push_back(build.output_gradient(i));
  buffers.push_back(build.input_gradient(0));
  build.emit(kJoinStep, parts, std::span<const BufferId>(buffers));
}

}  // namespace

const OpRule kConcat{OpKind::concat, infer_concat, no_flops, forward_concat, backward_concat};
const OpRule kSplit{OpKind::split, infer_split, no_flops, forward_split, backward_split};

}  // namespace coterie::ops
