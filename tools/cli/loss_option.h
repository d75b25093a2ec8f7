// --loss: of `model train`, `evaluate`, `profile` and `quantise`.
#pragma once

#include <optional>
#include <string>

#include "proto/messages/plan.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"

namespace coterie {

inline CLI::Option* add_loss(CLI::App& command, std::optional<Loss>& loss) {
  return command
      .add_option_function<std::string>(
          "--loss", [&loss](const std::string& name) { loss = loss_from(name); },
          "default: softmax_cross_entropy for labels, mean_squared_error for numbers")
      ->type_name("NAME")
      ->check(one_of({loss_names().begin(), loss_names().end()}));
}

}  // namespace coterie
