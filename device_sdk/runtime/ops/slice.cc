// slice: counts[i] positions along axes[i], from starts[i], steps[i] apart; pad: x with a border of one value, or
// without one where the padding is negative. slice is of any type.
#include <algorithm>

#include "base/text/concat.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"
#include "device_sdk/runtime/ops/strided.h"

namespace coterie::ops {
namespace {

Status check_axis(const SliceAttributes& a, size_t i, const Shape& x) {
  const int64_t axis = a.axes[i], start = a.starts[i], count = a.counts[i], step = a.steps[i];
  const int64_t before = i == 0 ? -1 : a.axes[i - 1];
  if (axis <= before || axis >= static_cast<int64_t>(x.size())) {
    return does_not_fit(concat({"axis ", axis, " is not one of ", to_text(x), ", or out of order"}));
  }
  const int64_t size = x[static_cast<size_t>(axis)];
  const std::string where = " along axis " + std::to_string(axis) + " of " + std::to_string(size);
  if (step == 0) return does_not_fit(concat({"step is 0", where}));
  if (count < 1 || count > size) return does_not_fit(concat({"takes ", count, " positions", where}));
  if (start < 0 || start >= size) return does_not_fit(concat({"takes positions outside", where}));
  // A step of the axis's size leaves it as well as a longer one, which might overflow.
  const int64_t last = start + (count - 1) * std::clamp(step, -size, size);
  if (last < 0 || last >= size) return does_not_fit(concat({"takes positions outside", where}));
  return {};
}

Result<std::vector<TensorType>> infer_slice(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_one_input(inputs));
  const auto& a = std::get<SliceAttributes>(op.attributes);
  if (a.starts.size() != a.axes.size() || a.counts.size() != a.axes.size() || a.steps.size() != a.axes.size()) {
    return does_not_fit("has not one start, count and step an axis");
  }
  Shape y = inputs[0].shape;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    COT_TRY(check_axis(a, i, inputs[0].shape));
    y[static_cast<size_t>(a.axes[i])] = a.counts[i];
  }
  return one_output(std::move(y), inputs[0].type);
}

// Between the whole of `inner` and a window of `outer`, whose corner is its first element. Operand 0 is outer.
Copy window_of(const Shape& outer, const Shape& inner) {
  const std::vector<size_t> outer_sizes = sizes_of(outer), sizes = sizes_of(inner);
  Copy window;
  window.loops.rank = std::max<size_t>(1, sizes.size());
  std::copy(sizes.begin(), sizes.end(), window.loops.size.begin());
  window.loops.stride = {kernels::dense_strides(outer_sizes, false), kernels::dense_strides(sizes, false)};
  return window;
}

Copy sliced(const OpBuild& build) {
  const auto& a = build.attributes<SliceAttributes>();
  Copy window = window_of(build.input_shape(0), build.output_shape());
  for (size_t i = 0; i < a.axes.size(); ++i) {
    ptrdiff_t& stride = window.loops.stride[0][static_cast<size_t>(a.axes[i])];
    window.x_offset += stride * static_cast<ptrdiff_t>(a.starts[i]);
    stride *= a.counts[i] > 1 ? static_cast<ptrdiff_t>(a.steps[i]) : 1;
  }
  window.loops = collapsed(window.loops);
  return window;
}

void forward_slice(OpBuild& build) { build.emit(kCopyStep, sliced(build), {build.input(0), build.output()}); }

void backward_slice(OpBuild& build) {
  const Bordered bordered{sliced(build).reversed(), elements(build.input_shape(0))};
  build.emit(kBorderedStep, bordered, {build.output_gradient(), build.input_gradient(0)});
}

Result<std::vector<TensorType>> infer_pad(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  const auto& a = std::get<PadAttributes>(op.attributes);
  const Shape& x = inputs[0].shape;
  if (a.before.size() != x.size() || a.after.size() != x.size()) {
    return does_not_fit(concat({"has not one padding before and after each of ", x.size(), " dimensions"}));
  }
  constexpr auto kMax = static_cast<int64_t>(limits::kTensorElementsMax);
  Shape y = x;
  for (size_t d = 0; d < x.size(); ++d) {
    const bool is_small = a.before[d] >= -kMax && a.before[d] <= kMax && a.after[d] >= -kMax && a.after[d] <= kMax;
    // What is left of x must not be empty.
    if (!is_small || x[d] + std::min<int64_t>(a.before[d], 0) + std::min<int64_t>(a.after[d], 0) < 1) {
      return does_not_fit(
          concat({"padding ", a.before[d], " and ", a.after[d], " does not fit dimension ", d, " of ", to_text(x)}));
    }
    y[d] += a.before[d] + a.after[d];
  }
  return one_output(std::move(y));
}

// What is left of x, to its place in y.
Copy kept_of(const OpBuild& build) {
  const auto& a = build.attributes<PadAttributes>();
  const Shape& x = build.input_shape(0);
  Copy kept = window_of(build.output_shape(), x).reversed();
  for (size_t d = 0; d < x.size(); ++d) {
    const int64_t cut = std::max<int64_t>(0, -a.before[d]), cut_behind = std::max<int64_t>(0, -a.after[d]);
    kept.loops.size[d] = static_cast<size_t>(x[d] - cut - cut_behind);
    kept.x_offset += kept.loops.stride[0][d] * cut;
    kept.y_offset += kept.loops.stride[1][d] * std::max<int64_t>(0, a.before[d]);
  }
  kept.loops = collapsed(kept.loops);
  return kept;
}

void forward_pad(OpBuild& build) {
  const Bordered bordered{kept_of(build), elements(build.output_shape()), build.attributes<PadAttributes>().value};
  build.emit(kBorderedStep, bordered, {build.input(0), build.output()});
}

void backward_pad(OpBuild& build) {
  const Bordered bordered{kept_of(build).reversed(), elements(build.input_shape(0))};
  build.emit(kBorderedStep, bordered, {build.output_gradient(), build.input_gradient(0)});
}

}  // namespace

const OpRule kSlice{OpKind::slice, infer_slice, no_flops, forward_slice, backward_slice};
const OpRule kPad{OpKind::pad, infer_pad, no_flops, forward_pad, backward_pad};

}  // namespace coterie::ops
