// conv2d: x[b, h, w, c], w[kh, kw, c / groups, filters], optional bias[filters] -> y[b, oh, ow, filters].
#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/convolution.h"
#include "device_sdk/runtime/ops/folded_norm.h"
#include "device_sdk/runtime/ops/registry.h"
#include "train_kernels/conv2d_algorithm.h"
#include "train_kernels/workspace.h"

namespace coterie::ops {
namespace {

using kernels::Conv2dShape;

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_convolution_inputs(inputs));
  const auto& a = std::get<Conv2dAttributes>(op.attributes);
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  const int64_t groups = a.groups;
  if (groups < 1 || x[3] % groups != 0 || w[3] % groups != 0) {
    return does_not_fit(concat({"groups ", groups, " do not divide ", x[3], " channels and ", w[3], " filters"}));
  }
  if (w[2] != x[3] / groups) {
    return does_not_fit(concat({"weight ", to_text(w), " does not fit ", x[3], " channels in ", groups, " groups"}));
  }
  COT_TRY(check_convolution_bias(inputs, w[3]));
  COT_ASSIGN(const int64_t height,
             output_positions("height", x[1], w[0], a.stride_h, a.pad_top, a.pad_bottom, a.dilation_h));
  COT_ASSIGN(const int64_t width,
             output_positions("width", x[2], w[1], a.stride_w, a.pad_left, a.pad_right, a.dilation_w));
  COT_TRY(check_padded_size(x, a, "input"));
  return one_output({x[0], height, width, w[3]});
}

double flops(const OpInfo&, std::span<const Operand> inputs, std::span<const TensorType> outputs) {
  return 2.0 * static_cast<double>(elements(inputs[1].shape)) * static_cast<double>(elements(outputs[0].shape, 0, 3));
}

// What the parts of a product consist of.
enum class Cut : uint8_t { images, rows, columns };

struct Settings {
  Conv2dShape shape;
  kernels::Activation activation;
  Cut cut = Cut::images;

  size_t x_image() const { return shape.height * shape.width * shape.channels; }
  size_t y_image() const { return shape.out_h() * shape.out_w() * shape.filters; }
  Conv2dShape of(const kernels::Range& images) const {
    Conv2dShape part = shape;
    part.batch = images.size();
    return part;
  }
  // The rows and the columns of a part, in an image of `rows` by `columns`.
  kernels::Range rows_of(const kernels::Range& part, size_t rows) const {
    return cut == Cut::rows ? part : kernels::Range{0, rows};
  }
  kernels::Range columns_of(const kernels::Range& part, size_t columns) const {
    return cut == Cut::columns ? part : kernels::Range{0, columns};
  }
  // Where to cut the taps: as conv2d_backward_weights_part has it cheapest.
  size_t tap_grain() const {
    if (shape.is_depthwise()) return 1;
    return shape.filters < 9 ? shape.kernel_w * shape.channels / shape.groups : 8;
  }
};

Settings settings_of(const OpBuild& build) {
  return {convolution_shape(build.input_shape(0), build.input_shape(1), build.attributes<Conv2dAttributes>()),
          build.activation()};
}

void describe_window(const Settings& s, SettingsText& text) { describe_convolution(s.shape, text); }

void describe_input(const Settings& s, SettingsText& text) {
  describe_window(s, text);
  text.add(s.cut == Cut::rows ? "by rows" : s.cut == Cut::columns ? "by columns" : "");
}

void describe_forward(const Settings& s, SettingsText& text) {
  describe_input(s, text);
  text.add(s.activation);
}

void run_prepare_forward(const Step& step, const StepContext& context) {
  const auto& [w, prepared] = step.take<2>();
  context.kernels.conv2d_prepare_forward(step.as<Conv2dShape>(), step.part, w, prepared);
}

constexpr StepKindOf<Conv2dShape> kPrepareForwardStep{"conv2d.prepare_forward", run_prepare_forward,
                                                      describe_convolution};

void run_prepare_backward_input(const Step& step, const StepContext& context) {
  const auto& [w, prepared] = step.take<2>();
  context.kernels.conv2d_prepare_backward_input(step.as<Conv2dShape>(), step.part, w, prepared);
}

constexpr StepKindOf<Conv2dShape> kPrepareBackwardInputStep{"conv2d.prepare_backward_input", run_prepare_backward_input,
                                                            describe_convolution};

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, w, prepared, bias, y, scratch] = step.take<6>();
  if (s.cut == Cut::images) {
    const size_t image = step.part.begin;
    return context.kernels.conv2d_forward(s.of(step.part), x + image * s.x_image(), w, prepared, bias, s.activation,
                                          y + image * s.y_image(), scratch);
  }
  context.kernels.conv2d_forward_part(s.shape, s.rows_of(step.part, s.shape.out_h()),
                                      s.columns_of(step.part, s.shape.filters), x, w, prepared, bias, s.activation, y,
                                      scratch);
}

constexpr StepKindOf<Settings> kForwardStep{"conv2d.forward", run_forward, describe_forward};

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [dy, w, prepared, dx, scratch] = step.take<5>();
  if (s.cut == Cut::images) {
    const size_t image = step.part.begin;
    return context.kernels.conv2d_backward_input(s.of(step.part), dy + image * s.y_image(), w, prepared,
                                                 dx + image * s.x_image(), scratch);
  }
  context.kernels.conv2d_backward_input_part(s.shape, s.rows_of(step.part, s.shape.height),
                                             s.columns_of(step.part, s.shape.channels), dy, w, prepared, dx, scratch);
}

constexpr StepKindOf<Settings> kBackwardInputStep{"conv2d.backward_input", run_backward_input, describe_input};

void run_backward_weights(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, dy, dw, dbias, scratch] = step.take<5>();
  // Parts are ranges of taps, and the bias has none: the first part makes it.
  float* const dbias_once = step.part.begin == 0 ? dbias : nullptr;
  context.kernels.conv2d_backward_weights_part(s.shape, step.part, x, dy, dw, dbias_once, scratch);
}

constexpr StepKindOf<Settings> kBackwardWeightsStep{"conv2d.backward_weights", run_backward_weights, describe_window};

// A part reads all weights, or, of columns, the whole image: so many pixels and columns at least.
constexpr size_t kPartPixelsMin = 32, kColumnsMin = 64;

// Columns where the weights are not prepared: each part then packs and reads its own weights alone. (Of a few columns
// there is little to pack.) Else rows of one image, or images.
Cut cut_of(const Conv2dShape& s, bool is_prepared, bool has_columns, size_t columns, bool has_rows) {
  if (!is_prepared && has_columns && columns >= kColumnsMin) return Cut::columns;
  return s.batch == 1 && has_rows ? Cut::rows : Cut::images;
}

// Cuts images of `rows` rows with `row` pixels each.
Split split_of(const OpBuild& build, const Settings& s, size_t rows, size_t row, size_t columns, size_t grain) {
  if (s.cut == Cut::columns) return build.split(columns, kernels::kLanesMax);
  if (s.cut == Cut::images) return build.split(s.shape.batch, (kPartPixelsMin + rows * row - 1) / (rows * row));
  const size_t wanted = (kPartPixelsMin + row - 1) / row;
  return build.split(rows, (wanted + grain - 1) / grain * grain);
}

// Cuts a step that prepares the weights.
Split by_weights(size_t units) { return {.units = units, .grain = kernels::kLanesMax, .flops = 0}; }

void forward(OpBuild& build) {
  Settings s = settings_of(build);
  const Conv2dShape& shape = s.shape;
  const auto [weight, bias] = layer_weights(build);
  BufferId prepared = kNoBuffer;
  if (kernels::prepares_conv2d_forward(shape)) {
    prepared =
        build.prepare_weight(1, weight, kPrepareForwardStep, shape, kernels::conv2d_forward_prepared_bytes(shape),
                             by_weights(shape.channels / shape.groups));
  }
  s.cut = cut_of(shape, prepared != kNoBuffer, kernels::conv2d_forward_has_columns(shape), shape.filters, true);
  build.emit(kForwardStep, s,
             {build.input(0), kernels::prepared_replaces_forward(shape) ? kNoBuffer : weight, prepared, bias,
              build.output(), build.workspace(kernels::conv2d_forward_workspace(shape))},
             split_of(build, s, shape.out_h(), shape.out_w(), shape.filters, kernels::conv2d_row_grain(shape)));
}

// The kernel makes dw and dbias together; if only the bias is trained, dw goes to scratch memory.
void emit_backward_weights(OpBuild& build, Settings s, BufferId dy) {
  const ChannelRange channels = s.shape.groups == 1 ? build.trained_channels(1, 2) : ChannelRange{};
  if (!channels.is_all()) s.shape.filters = channels.count;
  dy = build.take_channels(dy, build.output_shape(), channels);
  build.emit(kBackwardWeightsStep, s,
             {build.input(0), dy, build.gradient_or_scratch(1, channels), build.channel_gradient(2, channels),
              build.workspace(kernels::conv2d_backward_weights_workspace(s.shape))},
             build.split(s.shape.taps(), s.tap_grain()));
}

void backward(OpBuild& build) {
  Settings s = settings_of(build);
  const Conv2dShape& shape = s.shape;
  const BufferId dy = build.output_gradient();
  if (build.needs_gradient(1) || build.needs_gradient(2)) emit_backward_weights(build, s, dy);
  if (!build.needs_gradient(0)) return;
  const BufferId weight = weight_in_backward(build);
  BufferId prepared = kNoBuffer;
  if (kernels::prepares_conv2d_backward_input(shape)) {
    prepared = build.prepare_weight(1, weight, kPrepareBackwardInputStep, shape,
                                    kernels::conv2d_backward_input_prepared_bytes(shape),
                                    by_weights(shape.filters / shape.groups));
  }
  s.cut = cut_of(shape, prepared != kNoBuffer, kernels::conv2d_backward_input_has_columns(shape), shape.channels,
                 kernels::gradient_has_rows(shape));
  build.emit(kBackwardInputStep, s,
             {dy, prepared == kNoBuffer ? weight : kNoBuffer, prepared, build.input_gradient(0),
              build.workspace(kernels::conv2d_backward_input_workspace(shape))},
             split_of(build, s, shape.height, shape.width, shape.channels, kernels::conv2d_gradient_row_grain(shape)));
}

}  // namespace

const OpRule kConv2d{OpKind::conv2d, infer, flops, forward, backward};

}  // namespace coterie::ops
