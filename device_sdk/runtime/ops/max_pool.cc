// max_pool2d: x[b, h, w, c] -> y[b, oh, ow, c].
#include "device_sdk/runtime/ops/pooling.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

void run_max_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<PoolSettings>();
  const auto& [x, y] = step.take<2>();
  const size_t at = step.part.begin;
  context.kernels.max_pool2d_forward(s.of(step.part), x + at * s.x_image(), y + at * s.y_image());
}

constexpr StepKindOf<PoolSettings> kMaxForwardStep{"max_pool2d.forward", run_max_forward, describe_pool};

void describe_max_backward(const PoolSettings& s, SettingsText& text) {
  describe_pool(s, text);
  text.add(s.through_relu ? "through relu" : "");
}

void run_max_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<PoolSettings>();
  const auto& [x, y, dy, dx] = step.take<4>();
  const size_t x_at = step.part.begin * s.x_image(), y_at = step.part.begin * s.y_image();
  context.kernels.max_pool2d_backward(s.of(step.part), x + x_at, y + y_at, dy + y_at, s.through_relu, dx + x_at);
}

constexpr StepKindOf<PoolSettings> kMaxBackwardStep{"max_pool2d.backward", run_max_backward, describe_max_backward};

void forward_max(OpBuild& build) {
  build.emit(kMaxForwardStep, pool_settings(build), {build.input(0), build.output()}, split_of_images(build));
}

void backward_max(OpBuild& build) {
  build.emit(kMaxBackwardStep, pool_settings(build),
             {build.input(0), build.output(), build.output_gradient(), build.input_gradient(0)},
             split_of_images(build));
}

}  // namespace

const OpRule kMaxPool2d{OpKind::max_pool2d, infer_pool_window, pool_window_flops, forward_max, backward_max};

}  // namespace coterie::ops
