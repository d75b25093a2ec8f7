// conv2d: x[h, w, c], w[kh, kw, c / groups, filters], optional bias[filters] -> y[oh, ow, filters].
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"
#include "train_kernels/workspace.h"

namespace coterie::ops {
namespace {

using kernels::Conv2dShape;

// The border is copied into scratch memory, whose offsets must fit int32 too.
Status check_padded_size(const Shape& x, const Conv2dAttributes& a) {
  const double padded = (static_cast<double>(x[0]) + a.pad_top + a.pad_bottom) *
                        (static_cast<double>(x[1]) + a.pad_left + a.pad_right) * static_cast<double>(x[2]);
  if (padded > static_cast<double>(limits::kTensorElementsMax)) {
    return Error(ErrorCode::too_large, "its padded input has more than 2^28 elements");
  }
  return {};
}

Result<Shape> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_operands(inputs, 2, 3, 1));
  const auto* a = std::get_if<Conv2dAttributes>(&op.attributes);
  if (a == nullptr) return does_not_fit("has no convolution attributes");
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  if (x.size() != 3) return does_not_fit("input must be height x width x channels, is " + to_text(x));
  if (w.size() != 4) return does_not_fit("weight must have four dimensions, has " + to_text(w));
  const int64_t groups = a->groups;
  if (groups < 1 || x[2] % groups != 0 || w[3] % groups != 0) {
    return does_not_fit("groups " + std::to_string(groups) + " do not divide " + std::to_string(x[2]) +
                        " channels and " + std::to_string(w[3]) + " filters");
  }
  if (w[2] != x[2] / groups) {
    return does_not_fit("weight " + to_text(w) + " does not fit " + std::to_string(x[2]) + " channels in " +
                        std::to_string(groups) + " groups");
  }
  if (inputs.size() == 3 && inputs[2].shape != Shape{w[3]}) {
    return does_not_fit("bias " + to_text(inputs[2].shape) + " does not fit weight " + to_text(w));
  }
  COT_ASSIGN(const int64_t height, output_positions("height", x[0], w[0], a->stride_h, a->pad_top, a->pad_bottom));
  COT_ASSIGN(const int64_t width, output_positions("width", x[1], w[1], a->stride_w, a->pad_left, a->pad_right));
  COT_TRY(check_padded_size(x, *a));
  return Shape{height, width, w[3]};
}

double flops(const OpInfo&, std::span<const Operand> inputs, const Shape& output) {
  return 2.0 * static_cast<double>(elements(inputs[1].shape)) * static_cast<double>(output[0] * output[1]);
}

struct Settings {
  Conv2dShape shape;
  kernels::Activation activation;

  Conv2dShape of(size_t batch) const {
    Conv2dShape s = shape;
    s.batch = batch;
    return s;
  }
};

Settings settings_of(const OpBuild& build) {
  const auto& a = std::get<Conv2dAttributes>(build.op().attributes);
  const Shape &x = build.input_shape(0), &w = build.input_shape(1);
  const auto size = [](int64_t dimension) { return static_cast<size_t>(dimension); };
  return {{.batch = build.batch(),
           .height = size(x[0]),
           .width = size(x[1]),
           .channels = size(x[2]),
           .kernel_h = size(w[0]),
           .kernel_w = size(w[1]),
           .filters = size(w[3]),
           .stride_h = a.stride_h,
           .stride_w = a.stride_w,
           .pad_top = a.pad_top,
           .pad_left = a.pad_left,
           .pad_bottom = a.pad_bottom,
           .pad_right = a.pad_right,
           .groups = a.groups},
          build.applies_relu() ? kernels::Activation::relu : kernels::Activation::none};
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, w, bias, y, scratch, unused] = step.buffers;
  context.kernels.conv2d_forward(s.of(context.batch), x, w, bias, s.activation, y, scratch);
}

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [dy, w, dx, scratch, unused1, unused2] = step.buffers;
  context.kernels.conv2d_backward_input(s.of(context.batch), dy, w, dx, scratch);
}

void run_backward_weights(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, dy, dw, dbias, scratch, unused] = step.buffers;
  context.kernels.conv2d_backward_weights(s.of(context.batch), x, dy, dw, dbias, scratch);
}

void forward(OpBuild& build) {
  const Settings s = settings_of(build);
  build.emit(run_forward, s,
             {build.input(0), build.input(1), build.input(2), build.output(),
              build.scratch(kernels::conv2d_forward_workspace(s.shape))});
}

void backward(OpBuild& build) {
  const Settings s = settings_of(build);
  const BufferId dy = build.output_gradient();
  build.emit(run_backward_weights, s,
             {build.input(0), dy, build.input_gradient(1), build.input_gradient(2),
              build.scratch(kernels::conv2d_backward_weights_workspace(s.shape))});
  if (!build.needs_gradient(0)) return;
  build.emit(run_backward_input, s,
             {dy, build.input(1), build.input_gradient(0),
              build.scratch(kernels::conv2d_backward_input_workspace(s.shape))});
}

}  // namespace

const OpRule kConv2d{OpKind::conv2d, false, infer, flops, forward, backward};

}  // namespace coterie::ops
