// Numbers as the sentences of an account have them: the shortest text that reads back as the same number.
#pragma once

#include <charconv>
#include <string>

namespace coterie {

inline std::string number_words(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

}  // namespace coterie
