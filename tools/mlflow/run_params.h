// What a tracking server is told of a run before it begins: its settings as texts.
#pragma once

#include <string>

#include "tools/mlflow/mlflow_json.h"

namespace coterie {

struct OptimizerSettings;

// A number in as few digits as give it back.
std::string param_text(float value);
// What the device's training goes by, or the whole one where there is but one.
void add_training_params(MlflowParams& params, const OptimizerSettings& optimizer, uint32_t batch_size,
                         uint32_t epochs);

}  // namespace coterie
