// conv_transpose2d: x[b, h, w, c], w[kh, kw, filters / groups, c], optional bias[filters] -> y[b, oh, ow, filters]: the
// gradient by its input of the convolution that makes x's size of y's. oh = (h - 1) stride - padding + the kernel's
// extent + output_pad (ONNX ConvTranspose, PyTorch's ConvTranspose2d).
#include "base/text/concat.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/convolution.h"
#include "device_sdk/runtime/ops/folded_norm.h"
#include "device_sdk/runtime/ops/registry.h"
#include "train_kernels/workspace.h"

namespace coterie::ops {
namespace {

using kernels::Conv2dShape;

// Positions of one axis of y: those from which the matching convolution makes `size`.
Result<int64_t> positions_before(std::string_view axis, int64_t size, int64_t kernel, int64_t stride,
                                 int64_t pad_before, int64_t pad_after, int64_t dilation, int64_t output_pad) {
  const std::string name(axis);
  if (output_pad >= stride) {
    return does_not_fit(concat({"output padding of the ", name, " is not smaller than the stride ", stride}));
  }
  // Every factor is below 2^32, and a size below 2^29: nothing here overflows.
  const int64_t positions = (size - 1) * stride + (kernel - 1) * dilation + 1 + output_pad - pad_before - pad_after;
  if (positions < 1 || positions > static_cast<int64_t>(limits::kTensorElementsMax)) {
    return does_not_fit(concat({"output's ", name, " would be ", positions}));
  }
  COT_ASSIGN(const int64_t seen, output_positions(axis, positions, kernel, stride, pad_before, pad_after, dilation));
  if (seen != size) return does_not_fit(concat({name, " of the output does not lead back to the input's"}));
  return positions;
}

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_convolution_inputs(inputs));
  const auto& a = std::get<Conv2dAttributes>(op.attributes);
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  const int64_t groups = a.groups;
  if (w[3] != x[3] || groups < 1 || x[3] % groups != 0) {
    return does_not_fit(concat({"weight ", to_text(w), " does not fit ", x[3], " channels in ", groups, " groups"}));
  }
  const int64_t filters = w[2] * groups;  // both below 2^29
  COT_TRY(check_convolution_bias(inputs, filters));
  COT_ASSIGN(const int64_t height,
             positions_before("height", x[1], w[0], a.stride_h, a.pad_top, a.pad_bottom, a.dilation_h, a.output_pad_h));
  COT_ASSIGN(const int64_t width,
             positions_before("width", x[2], w[1], a.stride_w, a.pad_left, a.pad_right, a.dilation_w, a.output_pad_w));
  Shape y{x[0], height, width, filters};
  COT_TRY(check_padded_size(y, a, "output"));
  return one_output(std::move(y));
}

double flops(const OpInfo&, std::span<const Operand> inputs, std::span<const TensorType>) {
  return 2.0 * static_cast<double>(elements(inputs[1].shape)) * static_cast<double>(elements(inputs[0].shape, 0, 3));
}

struct Settings {
  Conv2dShape shape;  // of the matching convolution: from y to x
  kernels::Activation activation;
};

Settings settings_of(const OpBuild& build) {
  return {convolution_shape(build.output_shape(), build.input_shape(1), build.attributes<Conv2dAttributes>()),
          build.activation()};
}

// Some of the images, and where the first of them begins.
struct Part {
  Conv2dShape shape;
  size_t x_at, y_at;
};

Part part_of(const Step& step) {
  Conv2dShape s = step.as<Settings>().shape;
  s.batch = step.part.size();
  const size_t first = step.part.begin;
  return {s, first * s.out_h() * s.out_w() * s.filters, first * s.height * s.width * s.channels};
}

void describe_window(const Settings& s, SettingsText& text) { describe_convolution(s.shape, text); }

void describe_forward(const Settings& s, SettingsText& text) {
  describe_window(s, text);
  text.add(s.activation);
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& [x, w, bias, y, scratch] = step.take<5>();
  const auto [shape, x_at, y_at] = part_of(step);
  context.kernels.conv_transpose2d_forward(shape, x + x_at, w, bias, step.as<Settings>().activation, y + y_at, scratch);
}

constexpr StepKindOf<Settings> kForwardStep{"conv_transpose2d.forward", run_forward, describe_forward};

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& [dy, w, dx, scratch] = step.take<4>();
  const auto [shape, x_at, y_at] = part_of(step);
  context.kernels.conv_transpose2d_backward_input(shape, dy + y_at, w, dx + x_at, scratch);
}

constexpr StepKindOf<Settings> kBackwardInputStep{"conv_transpose2d.backward_input", run_backward_input,
                                                  describe_window};

void run_backward_weights(const Step& step, const StepContext& context) {
  const auto& [x, dy, dw, dbias, scratch] = step.take<5>();
  context.kernels.conv_transpose2d_backward_weights(step.as<Settings>().shape, x, dy, dw, dbias, scratch);
}

constexpr StepKindOf<Settings> kBackwardWeightsStep{"conv_transpose2d.backward_weights", run_backward_weights,
                                                    describe_window};

void forward(OpBuild& build) {
  const Settings s = settings_of(build);
  const auto [weight, bias] = transposed_weights(build, s.shape.groups);
  build.emit(kForwardStep, s,
             {build.input(0), weight, bias, build.output(),
              build.workspace(kernels::conv_transpose2d_forward_workspace(s.shape))},
             build.split(s.shape.batch));
}

// The kernel makes dw and dbias together; if only the bias is trained, dw goes to scratch memory.
void emit_backward_weights(OpBuild& build, const Settings& s, BufferId dy) {
  build.emit(kBackwardWeightsStep, s,
             {build.input(0), dy, build.gradient_or_scratch(1), build.input_gradient(2),
              build.scratch(kernels::conv_transpose2d_backward_weights_workspace(s.shape))});
}

void backward(OpBuild& build) {
  const Settings s = settings_of(build);
  const BufferId dy = build.output_gradient();
  if (build.needs_gradient(1) || build.needs_gradient(2)) emit_backward_weights(build, s, dy);
  if (!build.needs_gradient(0)) return;
  build.emit(kBackwardInputStep, s,
             {dy, weight_in_backward(build), build.input_gradient(0),
              build.workspace(kernels::conv_transpose2d_backward_input_workspace(s.shape))},
             build.split(s.shape.batch));
}

}  // namespace

const OpRule kConvTranspose2d{OpKind::conv_transpose2d, infer, flops, forward, backward};

}  // namespace coterie::ops
