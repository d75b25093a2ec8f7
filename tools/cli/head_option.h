// --head: of `model train`, `evaluate` and `quantise`.
#pragma once

#include <string>
#include <vector>

#include "device_sdk/runtime/loss_heads.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"

namespace coterie {

inline CLI::Option* add_heads(CLI::App& command, std::vector<TrainingHead>& heads) {
  return command
      .add_option_function<std::vector<std::string>>(
          "--head",
          [&heads](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) heads.push_back(parse_training_head(text).value());
          },
          "an output of the model with a loss of its own, whose weight is 1 unless given: age:mean_squared_error:0.5; "
          "may be given again, the first for the model's own output. The data's target has theirs one behind the other")
      ->type_name("OUTPUT:LOSS[:WEIGHT]")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(checked_by(&parse_training_head));
}

}  // namespace coterie
