// --ignore-label: of `model train`, `evaluate` and `quantise`, `demo` and `simulate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device_sdk/runtime/train_options.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"

namespace coterie {

inline CLI::Option* add_ignore_label(CLI::App& command, std::optional<int32_t>& label) {
  return command
      .add_option_function<std::string>(
          "--ignore-label", [&label](const std::string& text) { label = parse_ignore_label(text).value(); },
          "examples with this label have no loss and are counted nowhere: -100, 255, or a class")
      ->type_name("LABEL")
      ->check(checked_by(&parse_ignore_label));
}

}  // namespace coterie
