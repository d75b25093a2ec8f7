// coterie model optimise: passes over a model file.
#pragma once

#include <string>

#include "device_sdk/runtime/optimisation.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct ModelOptimiseOptions {
  std::string from, to;
  Optimisation level = Optimisation::rounding;
  bool is_trainable = false;  // else the file is for prediction
  bool as_json = false;
};
// Prints what each pass rewrote, and how far answers to random inputs differ.
ExitCode optimise_model(const ModelOptimiseOptions& options);

}  // namespace coterie
