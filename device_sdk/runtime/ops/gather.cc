// gather: x, indices (int32) -> y, where the axis of x is replaced by the shape of the indices; x of any type.
// embedding: table[n, d], indices (int32)[..] -> y[.., d]: gather along axis 0.
#include <algorithm>
#include <cstring>
#include <string>

#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

// By axis: of a gather, whose x may be of any type, or 0.
Result<std::vector<TensorType>> infer_along(size_t axis, std::span<const Operand> inputs) {
  const DataType type = inputs.empty() ? DataType::float32 : inputs[0].type;
  COT_TRY(check_inputs(inputs, {{.type = type}, {.type = DataType::int32}}));
  const Shape &x = inputs[0].shape, &indices = inputs[1].shape;
  if (axis >= x.size()) {
    return does_not_fit(concat({"has no axis ", axis, " in an input of ", to_text(x)}));
  }
  Shape y(x.begin(), x.begin() + static_cast<ptrdiff_t>(axis));
  y.insert(y.end(), indices.begin(), indices.end());
  y.insert(y.end(), x.begin() + static_cast<ptrdiff_t>(axis) + 1, x.end());
  return one_output(std::move(y), type);
}

Result<std::vector<TensorType>> infer_gather(const OpInfo& op, std::span<const Operand> inputs) {
  return infer_along(std::get<AxisAttributes>(op.attributes).axis, inputs);
}

Result<std::vector<TensorType>> infer_embedding(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}, {.type = DataType::int32}}));
  COT_TRY(check_rank(inputs[0], "table", 2, 2));
  return infer_along(0, inputs);
}

// x[outer, rows, inner], indices[count] -> y[outer, count, inner].
struct Settings {
  size_t outer, rows, inner, count;
  std::string fault;  // what an index outside says
};

Settings settings_of(const OpBuild& build) {
  const auto* a = std::get_if<AxisAttributes>(&build.op().attributes);
  const size_t axis = a == nullptr ? 0 : a->axis;
  const Shape& x = build.input_shape(0);
  return {elements(x, 0, axis), static_cast<size_t>(x[axis]), elements(x, axis + 1, x.size()),
          elements(build.input_shape(1)), concat({"an index is outside the ", x[axis], " rows of ", build.op().name})};
}

// An index outside stops the step that meets it; until then it stands for 0.
size_t row_of(const Settings& s, int32_t index, const StepContext& context) {
  if (index >= 0 && static_cast<size_t>(index) < s.rows) return static_cast<size_t>(index);
  if (context.fault != nullptr) *context.fault = s.fault.c_str();
  return 0;
}

void describe(const Settings& s, SettingsText& text) { text.add("rows", s.rows).add("of", s.inner); }

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const float* x = step.buffers[0];
  const int32_t* indices = step.ints(1);
  float* y = step.buffers[2];
  for (size_t o = 0; o < s.outer; ++o, x += s.rows * s.inner) {
    for (size_t i = 0; i < s.count; ++i, y += s.inner) {
      std::memcpy(y, x + row_of(s, indices[i], context) * s.inner, s.inner * sizeof(float));
    }
  }
}

constexpr StepKindOf<Settings> kForwardStep{"gather.forward", run_forward, describe};

// Rows that are met several times get the sum; always in the same order.
void run_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const float* dy = step.buffers[0];
  const int32_t* indices = step.ints(1);
  float* dx = step.buffers[2];
  std::fill_n(dx, s.outer * s.rows * s.inner, 0.0f);
  for (size_t o = 0; o < s.outer; ++o, dx += s.rows * s.inner) {
    for (size_t i = 0; i < s.count; ++i, dy += s.inner) {
      context.kernels.accumulate(s.inner, dy, dx + row_of(s, indices[i], context) * s.inner);
    }
  }
}

constexpr StepKindOf<Settings> kBackwardStep{"gather.backward", run_backward, describe};

void forward(OpBuild& build) {
  build.emit(kForwardStep, settings_of(build), {build.input(0), build.input(1), build.output()});
}

void backward(OpBuild& build) {
  build.emit(kBackwardStep, settings_of(build), {build.output_gradient(), build.input(1), build.input_gradient(0)});
}

}  // namespace

const OpRule kGather{OpKind::gather, infer_gather, no_flops, forward, backward};
const OpRule kEmbedding{OpKind::embedding, infer_embedding, no_flops, forward, backward};

}  // namespace coterie::ops
