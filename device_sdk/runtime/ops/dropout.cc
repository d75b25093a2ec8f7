// dropout: x -> y of any shape. While training, each value is 0 with probability `rate`, else divided by 1 - rate
// (Srivastava et al. 2014, "inverted"); otherwise y is x.
#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"
#include "train_kernels/counter_random.h"

namespace coterie::ops {
namespace {

using kernels::philox4x32;

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  const float rate = std::get<DropoutAttributes>(op.attributes).rate;
  if (!(rate >= 0 && rate < 1)) return does_not_fit(concat({"rate must be in [0, 1), is ", std::to_string(rate)}));
  return one_output(inputs[0].shape);
}

struct Settings {
  uint32_t stream;     // of this op
  uint32_t threshold;  // a random number below it drops its value
  float scale;
};

Settings settings_of(const OpBuild& build) {
  const float rate = build.attributes<DropoutAttributes>().rate;
  return {build.index(), static_cast<uint32_t>(static_cast<double>(rate) * 0x1p32), 1 / (1 - rate)};
}

void describe(const Settings& s, SettingsText& text) {
  text.add("stream", s.stream).add("rate", static_cast<double>(s.threshold) * 0x1p-32);
}

// Forward and backward alike: the mask is a function of the step's seed, the op and the element's place.
void run(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [from, to] = step.take<2>();
  const kernels::PhiloxKey key = {static_cast<uint32_t>(context.random_seed),
                                  static_cast<uint32_t>(context.random_seed >> 32)};
  for (size_t i = step.part.begin; i < step.part.end; i += 4) {
    const auto random = philox4x32({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), s.stream, 0}, key);
    const size_t n = std::min<size_t>(4, step.part.end - i);
    for (size_t j = 0; j < n; ++j) to[i + j] = random[j] < s.threshold ? 0 : from[i + j] * s.scale;
  }
}

constexpr StepKindOf<Settings> kDropStep{"dropout", run, describe};

// Four numbers are drawn at a time: parts begin at a multiple of that.
Split split_of(const OpBuild& build) { return by_elements(elements(build.output_shape())); }

bool drops(const OpBuild& build) { return build.is_training() && build.attributes<DropoutAttributes>().rate > 0; }

void forward(OpBuild& build) {
  if (!drops(build)) return build.output_is_input();
  build.emit(kDropStep, settings_of(build), {build.input(0), build.output()}, split_of(build));
  build.may_share(build.output(), build.input(0));
}

void backward(OpBuild& build) {
  if (!drops(build)) return build.pass_gradient(0);
  const BufferId dy = build.output_gradient(), dx = build.input_gradient(0);
  build.emit(kDropStep, settings_of(build), {dy, dx}, split_of(build));
  build.may_share(dx, dy);
}

}  // namespace

const OpRule kDropout{OpKind::dropout, infer, flops_per_output, forward, backward};

}  // namespace coterie::ops
