#include "device_sdk/runtime/loss_rule.h"

#include <string>

namespace coterie {
namespace {

struct Settings {
  size_t rows, classes;
};

void run_cross_entropy(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  context.kernels.softmax_cross_entropy(s.rows, s.classes, step.buffers[0], step.ints(1), step.buffers[2],
                                        context.sums);
}

void run_squared_error(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  context.kernels.mean_squared_error(s.rows, s.classes, step.buffers[0], step.ints(1), step.buffers[2], context.sums);
}

}  // namespace

Result<TensorType> target_for_loss(Loss loss, const TensorType& output) {
  const Shape& shape = output.shape;
  const int64_t classes_min = loss == Loss::softmax_cross_entropy ? 2 : 1;
  if (output.type != DataType::float32 || shape.size() < 2 || shape.back() < classes_min) {
    return Error(ErrorCode::invalid_argument, std::string(to_string(loss)) + " needs an output of batch x at least " +
                                                  std::to_string(classes_min) + ", the model's is " + to_text(shape));
  }
  return TensorType{DataType::int32, Shape(shape.begin(), shape.end() - 1)};
}

bool is_valid_label(Loss loss, uint64_t classes, int32_t label) {
  if (loss == Loss::mean_squared_error && classes == 1) return true;
  return label >= 0 && static_cast<uint64_t>(label) < classes;
}

void emit_loss(Program& program, Loss loss, const TensorType& output_type, BufferId output, BufferId target,
               BufferId gradient) {
  const Shape& shape = output_type.shape;
  const Settings settings{elements(shape, 0, shape.size() - 1), static_cast<size_t>(shape.back())};
  program.emit(Phase::forward, loss == Loss::softmax_cross_entropy ? run_cross_entropy : run_squared_error, settings,
               {output, target, gradient});
}

}  // namespace coterie
