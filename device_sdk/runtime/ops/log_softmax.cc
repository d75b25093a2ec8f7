// log_softmax: x -> y of any shape, along one axis.
#include "device_sdk/runtime/ops/softmax_lines.h"

namespace coterie::ops {
namespace {

void run_forward(const Step& step, const StepContext& context) {
  const auto& [x, y] = step.take<2>();
  const auto [shape, at] = softmax_part(step);
  context.kernels.log_softmax_forward(shape, x + at, y + at);
}

constexpr SoftmaxKind kForwardStep{"log_softmax.forward", run_forward, describe_softmax};

void run_backward(const Step& step, const StepContext& context) {
  const auto& [y, dy, dx] = step.take<3>();
  const auto [shape, at] = softmax_part(step);
  context.kernels.log_softmax_backward(shape, y + at, dy + at, dx + at);
}

constexpr SoftmaxKind kBackwardStep{"log_softmax.backward", run_backward, describe_softmax};

}  // namespace

const OpRule kLogSoftmax{OpKind::log_softmax, infer_softmax, softmax_flops, softmax_forward<kForwardStep>,
                         softmax_backward<kBackwardStep>};

}  // namespace coterie::ops
