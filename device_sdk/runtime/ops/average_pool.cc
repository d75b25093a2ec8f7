// average_pool2d: x[b, h, w, c] -> y[b, oh, ow, c]; global_average_pool2d: x[b, h, w, c] -> y[b, c].
#include "device_sdk/runtime/ops/pooling.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

Result<std::vector<TensorType>> infer_global(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_pooled_image(inputs));
  return one_output({inputs[0].shape[0], inputs[0].shape[3]});
}

double flops_global(const OpInfo&, std::span<const Operand> inputs, std::span<const TensorType>) {
  return static_cast<double>(elements(inputs[0].shape));
}

void run_average_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<PoolSettings>();
  const auto& [x, y] = step.take<2>();
  const size_t at = step.part.begin;
  context.kernels.average_pool2d_forward(s.of(step.part), x + at * s.x_image(), y + at * s.y_image());
}

constexpr StepKindOf<PoolSettings> kAverageForwardStep{"average_pool2d.forward", run_average_forward, describe_pool};

void run_average_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<PoolSettings>();
  const auto& [dy, dx] = step.take<2>();
  const size_t at = step.part.begin;
  context.kernels.average_pool2d_backward(s.of(step.part), dy + at * s.y_image(), dx + at * s.x_image());
}

constexpr StepKindOf<PoolSettings> kAverageBackwardStep{"average_pool2d.backward", run_average_backward, describe_pool};

void forward_average(OpBuild& build) {
  build.emit(kAverageForwardStep, pool_settings(build), {build.input(0), build.output()}, split_of_images(build));
}

void backward_average(OpBuild& build) {
  build.emit(kAverageBackwardStep, pool_settings(build), {build.output_gradient(), build.input_gradient(0)},
             split_of_images(build));
}

}  // namespace

const OpRule kAveragePool2d{OpKind::average_pool2d, infer_pool_window, pool_window_flops, forward_average,
                            backward_average};
const OpRule kGlobalAveragePool2d{OpKind::global_average_pool2d, infer_global, flops_global, forward_average,
                                  backward_average};

}  // namespace coterie::ops
