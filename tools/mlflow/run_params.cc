#include "tools/mlflow/run_params.h"

#include <charconv>

#include "proto/messages/plan.h"

namespace coterie {

std::string param_text(float value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  return error == std::errc() ? std::string(digits, end) : std::string();
}

void add_training_params(MlflowParams& params, const OptimizerSettings& optimizer, uint32_t batch_size,
                         uint32_t epochs) {
  params.emplace_back("optimizer", to_string(optimizer.kind));
  params.emplace_back("learning_rate", param_text(optimizer.learning_rate));
  params.emplace_back("momentum", param_text(optimizer.momentum));
  params.emplace_back("weight_decay", param_text(optimizer.weight_decay));
  params.emplace_back("batch_size", std::to_string(batch_size));
  params.emplace_back("epochs", std::to_string(epochs));
}

}  // namespace coterie
