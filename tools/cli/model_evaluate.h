// coterie model evaluate: how good a model file is on data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proto/messages/plan.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct EvaluateOptions {
  std::string model, data;   // files; of the data also a name that load_data knows
  std::optional<Loss> loss;  // by the data unless given
  std::optional<int32_t> ignore_label = {};
  std::vector<TrainingHead> heads = {};
  std::string measures;  // tools/model/measure.h
  std::string augment;   // as in training: what it resizes and normalises; empty: nothing
  uint32_t threads = 1;
  bool as_json = false;
};
ExitCode evaluate_model(const EvaluateOptions& options);

}  // namespace coterie
