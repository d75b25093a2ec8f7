// Numbers in the texts of options.
#pragma once

#include <string_view>

#include "base/text/number_from_chars.h"

namespace coterie {

// Whether the whole text is a number of the type; then `number` is it.
template <typename T>
bool parse_number(std::string_view text, T& number) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = number_from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

}  // namespace coterie
