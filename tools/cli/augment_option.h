// --augment: of `model train`, `evaluate`, `profile` and `quantise`.
#pragma once

#include <string>

#include "proto/messages/augmentation.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"

namespace coterie {

inline CLI::Option* add_augment(CLI::App& command, std::string& augment, const char* description) {
  return command.add_option("--augment", augment, description)
      ->type_name("LIST")
      ->check(checked_by(&parse_augmentation));
}

}  // namespace coterie
