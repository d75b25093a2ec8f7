// Optimisation levels as text.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "device_sdk/runtime/optimisation.h"

namespace coterie {

// "0" to "3", or "O0" to "O3". invalid_argument.
inline Result<Optimisation> parse_optimisation(std::string_view text) {
  const std::string_view digit = text.starts_with('O') ? text.substr(1) : text;
  if (digit.size() == 1 && digit[0] >= '0' && digit[0] <= '3') return static_cast<Optimisation>(digit[0] - '0');
  return Error(ErrorCode::invalid_argument,
               "an optimisation level is 0, 1, 2 or 3, with or without an O before it, is " + std::string(text));
}

}  // namespace coterie
