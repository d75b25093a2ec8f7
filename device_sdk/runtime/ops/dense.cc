// dense: x[.., in], w[in, out], optional bias[out] -> y[.., out].
#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/folded_norm.h"
#include "device_sdk/runtime/ops/registry.h"
#include "train_kernels/workspace.h"

namespace coterie::ops {
namespace {

using kernels::DenseShape;

constexpr size_t kRowGrain = 8;     // rows that the kernels multiply at a time
constexpr size_t kColumnsMin = 64;  // of a product that is cut between its columns

Result<std::vector<TensorType>> infer(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}, {}, {.is_optional = true}}));
  COT_TRY(check_rank(inputs[0], "input", 2, 8));
  COT_TRY(check_rank(inputs[1], "weight", 2, 2));
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  if (w[0] != x.back()) return does_not_fit(concat({"weight ", to_text(w), " does not fit an input of ", to_text(x)}));
  if (inputs.size() == 3 && inputs[2].is_present && inputs[2].shape != Shape{w[1]}) {
    return does_not_fit(concat({"bias ", to_text(inputs[2].shape), " does not fit weight ", to_text(w)}));
  }
  Shape y = x;
  y.back() = w[1];
  return one_output(std::move(y));
}

double flops(const OpInfo&, std::span<const Operand> inputs, std::span<const TensorType> outputs) {
  return 2.0 * static_cast<double>(inputs[1].shape[0]) * static_cast<double>(elements(outputs[0].shape));
}

struct Settings {
  DenseShape shape;
  kernels::Activation activation;
  bool by_columns = false;  // the parts of a product; else rows

  DenseShape of(const kernels::Range& part) const {
    return {by_columns ? shape.batch : part.size(), shape.in, shape.out};
  }
  size_t row_of(const kernels::Range& part) const { return by_columns ? 0 : part.begin; }
  kernels::Range columns_of(const kernels::Range& part, size_t columns) const {
    return by_columns ? part : kernels::Range{0, columns};
  }
};

Settings settings_of(const OpBuild& build) {
  const Shape &x = build.input_shape(0), &w = build.input_shape(1);
  return {{elements(x, 0, x.size() - 1), static_cast<size_t>(w[0]), static_cast<size_t>(w[1])}, build.activation()};
}

void describe_input(const Settings& s, SettingsText& text) { text.add(s.by_columns ? "by columns" : ""); }

void describe_forward(const Settings& s, SettingsText& text) {
  text.add(s.activation);
  describe_input(s, text);
}

void run_prepare_forward(const Step& step, const StepContext& context) {
  const auto& [w, prepared] = step.take<2>();
  context.kernels.dense_prepare_forward(step.as<DenseShape>(), step.part, w, prepared);
}

constexpr StepKindOf<DenseShape> kPrepareForwardStep{"dense.prepare_forward", run_prepare_forward};

void run_prepare_backward_input(const Step& step, const StepContext& context) {
  const auto& [w, prepared] = step.take<2>();
  context.kernels.dense_prepare_backward_input(step.as<DenseShape>(), step.part, w, prepared);
}

constexpr StepKindOf<DenseShape> kPrepareBackwardInputStep{"dense.prepare_backward_input", run_prepare_backward_input};

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, w, prepared, bias, y, scratch] = step.take<6>();
  const size_t row = s.row_of(step.part);
  context.kernels.dense_forward(s.of(step.part), s.columns_of(step.part, s.shape.out), x + row * s.shape.in, w,
                                prepared, bias, s.activation, y + row * s.shape.out, scratch);
}

constexpr StepKindOf<Settings> kForwardStep{"dense.forward", run_forward, describe_forward};

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [dy, w, prepared, dx, scratch] = step.take<5>();
  const size_t row = s.row_of(step.part);
  context.kernels.dense_backward_input(s.of(step.part), s.columns_of(step.part, s.shape.in), dy + row * s.shape.out, w,
                                       prepared, dx + row * s.shape.in, scratch);
}

constexpr StepKindOf<Settings> kBackwardInputStep{"dense.backward_input", run_backward_input, describe_input};

void run_backward_weights(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, dy, dw, dbias, scratch] = step.take<5>();
  // Parts are rows of dw [in, out], and the bias has none: the first part makes it.
  float* const dbias_once = step.part.begin == 0 ? dbias : nullptr;
  context.kernels.dense_backward_weights_part(s.shape, step.part, x, dy, dw, dbias_once, scratch);
}

constexpr StepKindOf<Settings> kBackwardWeightsStep{"dense.backward_weights", run_backward_weights};

// Columns where the weights are not prepared, because few rows read them: each part then packs and reads its own.
Split split_of(const OpBuild& build, const Settings& s, size_t columns) {
  return s.by_columns ? build.split(columns, kernels::kLanesMax) : build.split(s.shape.batch, kRowGrain);
}

// Cuts a step that prepares the weights.
Split by_weights(size_t units) { return {.units = units, .grain = kernels::kLanesMax, .flops = 0}; }

void forward(OpBuild& build) {
  Settings s = settings_of(build);
  const auto [weight, bias] = layer_weights(build);
  BufferId prepared = kNoBuffer;
  if (kernels::prepares_dense_forward(s.shape)) {
    prepared = build.prepare_weight(1, weight, kPrepareForwardStep, s.shape,
                                    kernels::dense_forward_prepared_bytes(s.shape), by_weights(s.shape.in));
  }
  s.by_columns = prepared == kNoBuffer && s.shape.out >= kColumnsMin;
  build.emit(kForwardStep, s,
             {build.input(0), weight, prepared, bias, build.output(),
              build.workspace(kernels::dense_forward_workspace(s.shape))},
             split_of(build, s, s.shape.out));
}

// The kernel makes dw and dbias together; if only the bias is trained, dw goes to scratch memory.
void emit_backward_weights(OpBuild& build, Settings s, BufferId dy) {
  const ChannelRange channels = build.trained_channels(1, 2);
  if (!channels.is_all()) s.shape.out = channels.count;
  dy = build.take_channels(dy, build.output_shape(), channels);
  build.emit(kBackwardWeightsStep, s,
             {build.input(0), dy, build.gradient_or_scratch(1, channels), build.channel_gradient(2, channels),
              build.workspace(kernels::dense_backward_weights_workspace(s.shape))},
             build.split(s.shape.in, kRowGrain));
}

void backward(OpBuild& build) {
  Settings s = settings_of(build);
  const BufferId dy = build.output_gradient();
  if (build.needs_gradient(1) || build.needs_gradient(2)) emit_backward_weights(build, s, dy);
  if (!build.needs_gradient(0)) return;
  const BufferId weight = weight_in_backward(build);
  BufferId prepared = kNoBuffer;
  if (kernels::prepares_dense_backward_input(s.shape)) {
    prepared = build.prepare_weight(1, weight, kPrepareBackwardInputStep, s.shape,
                                    kernels::dense_backward_input_prepared_bytes(s.shape), by_weights(s.shape.out));
  }
  s.by_columns = prepared == kNoBuffer && s.shape.in >= kColumnsMin;
  build.emit(kBackwardInputStep, s,
             {dy, prepared == kNoBuffer ? weight : kNoBuffer, prepared, build.input_gradient(0),
              build.workspace(kernels::dense_backward_input_workspace(s.shape))},
             split_of(build, s, s.shape.in));
}

}  // namespace

const OpRule kDense{OpKind::dense, infer, flops, forward, backward};

}  // namespace coterie::ops
