// conv2d: x[b, h, w, c], w[kh, kw, c / groups, filters], optional bias[filters] -> y[b, oh, ow, filters].
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/convolution.h"
#include "device_sdk/runtime/ops/registry.h"
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
    return does_not_fit("groups " + std::to_string(groups) + " do not divide " + std::to_string(x[3]) +
                        " channels and " + std::to_string(w[3]) + " filters");
  }
  if (w[2] != x[3] / groups) {
    return does_not_fit("weight " + to_text(w) + " does not fit " + std::to_string(x[3]) + " channels in " +
                        std::to_string(groups) + " groups");
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

struct Settings {
  Conv2dShape shape;
  kernels::Activation activation;

  size_t x_image() const { return shape.height * shape.width * shape.channels; }
  size_t y_image() const { return shape.out_h() * shape.out_w() * shape.filters; }
  Conv2dShape of(const kernels::Range& images) const {
    Conv2dShape part = shape;
    part.batch = images.size();
    return part;
  }
  // One image is cut into rows; several are cut between images.
  bool has_gradient_rows() const { return shape.batch == 1 && kernels::gradient_has_rows(shape); }
  // Where to cut the taps: as conv2d_backward_weights_part has it cheapest.
  size_t tap_grain() const {
    if (shape.is_depthwise()) return 1;
    return shape.filters < 9 ? shape.kernel_w * shape.channels / shape.groups : 8;
  }
};

Settings settings_of(const OpBuild& build) {
  return {convolution_shape(build.input_shape(0), build.input_shape(1), build.attributes<Conv2dAttributes>()),
          build.applies_relu() ? kernels::Activation::relu : kernels::Activation::none};
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, w, bias, y, scratch] = step.take<5>();
  if (s.shape.batch == 1) {
    return context.kernels.conv2d_forward_rows(s.shape, step.part, x, w, bias, s.activation, y, scratch);
  }
  const size_t image = step.part.begin;
  context.kernels.conv2d_forward(s.of(step.part), x + image * s.x_image(), w, bias, s.activation,
                                 y + image * s.y_image(), scratch);
}

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [dy, w, dx, scratch] = step.take<4>();
  if (s.has_gradient_rows()) {
    return context.kernels.conv2d_backward_input_rows(s.shape, step.part, dy, w, dx, scratch);
  }
  const size_t image = step.part.begin;
  context.kernels.conv2d_backward_input(s.of(step.part), dy + image * s.y_image(), w, dx + image * s.x_image(), scratch);
}

void run_backward_weights(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, dy, dw, dbias, scratch] = step.take<5>();
  float* const dbias_once = step.part.begin == 0 ? dbias : nullptr;
  context.kernels.conv2d_backward_weights_part(s.shape, step.part, x, dy, dw, dbias_once, scratch);
}

// Each part prepares the weights for itself, which must not be more than its own work: so many pixels at least.
constexpr size_t kPartPixelsMin = 256;

Split by_images(const OpBuild& build, size_t pixels) {
  return build.split(static_cast<size_t>(build.input_shape(0)[0]), (kPartPixelsMin + pixels - 1) / pixels);
}

Split by_rows(const OpBuild& build, size_t rows, size_t columns) {
  const size_t wanted = (kPartPixelsMin + columns - 1) / columns, grain = kernels::kConv2dRowGrain;
  return build.split(rows, (wanted + grain - 1) / grain * grain);
}

void forward(OpBuild& build) {
  const Settings s = settings_of(build);
  build.emit(run_forward, s,
             {build.input(0), build.input(1), build.input(2), build.output(),
              build.workspace(kernels::conv2d_forward_workspace(s.shape))},
             s.shape.batch == 1 ? by_rows(build, s.shape.out_h(), s.shape.out_w())
                                : by_images(build, s.shape.out_h() * s.shape.out_w()));
}

// The kernel makes dw and dbias together; if only the bias is trained, dw goes to scratch memory.
void emit_backward_weights(OpBuild& build, Settings s, BufferId dy) {
  const ChannelRange channels = s.shape.groups == 1 ? build.trained_channels(1, 2) : ChannelRange{};
  if (!channels.is_all()) s.shape.filters = channels.count;
  dy = build.take_channels(dy, build.output_shape(), channels);
  build.emit(run_backward_weights, s,
             {build.input(0), dy, build.gradient_or_scratch(1, channels), build.channel_gradient(2, channels),
              build.workspace(kernels::conv2d_backward_weights_workspace(s.shape))},
             build.split(s.shape.taps(), s.tap_grain()));
}

void backward(OpBuild& build) {
  const Settings s = settings_of(build);
  const BufferId dy = build.output_gradient();
  if (build.needs_gradient(1) || build.needs_gradient(2)) emit_backward_weights(build, s, dy);
  if (!build.needs_gradient(0)) return;
  build.emit(run_backward_input, s,
             {dy, build.input(1), build.input_gradient(0),
              build.workspace(kernels::conv2d_backward_input_workspace(s.shape))},
             s.has_gradient_rows() ? by_rows(build, s.shape.height, s.shape.width)
                                   : by_images(build, s.shape.height * s.shape.width));
}

}  // namespace

const OpRule kConv2d{OpKind::conv2d, infer, flops, forward, backward};

}  // namespace coterie::ops
