#include "device_sdk/runtime/loss_rule.h"

#include <string>

#include "device_sdk/runtime/op_rule.h"

namespace coterie {
namespace {

struct Settings {
  size_t outputs;
};

void run_cross_entropy(const Step& step, const StepContext& context) {
  context.kernels.softmax_cross_entropy(context.batch, step.as<Settings>().outputs, step.buffers[0], context.labels,
                                        step.buffers[1], context.sums);
}

void run_squared_error(const Step& step, const StepContext& context) {
  context.kernels.mean_squared_error(context.batch, step.as<Settings>().outputs, step.buffers[0], context.labels,
                                     step.buffers[1], context.sums);
}

}  // namespace

Result<uint64_t> outputs_for_loss(const Model& model, Loss loss) {
  const Shape& shape = model.output_shape();
  const uint64_t outputs_min = loss == Loss::softmax_cross_entropy ? 2 : 1;
  if (shape.size() != 1 || elements(shape) < outputs_min) {
    return Error(ErrorCode::invalid_argument, std::string(to_string(loss)) + " needs a flat output of at least " +
                                                  std::to_string(outputs_min) + ", the model's is " + to_text(shape));
  }
  return elements(shape);
}

bool is_valid_label(Loss loss, uint64_t outputs, int32_t label) {
  if (loss == Loss::mean_squared_error && outputs == 1) return true;
  return label >= 0 && static_cast<uint64_t>(label) < outputs;
}

void emit_loss(Program& program, Loss loss, uint64_t output_count, BufferId outputs, BufferId gradient) {
  program.emit(loss == Loss::softmax_cross_entropy ? run_cross_entropy : run_squared_error, Settings{output_count},
               {outputs, gradient});
}

}  // namespace coterie
