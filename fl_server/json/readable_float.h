// Floats in JSON, whose numbers are doubles.
#pragma once

#include <charconv>

namespace coterie {

// The double whose shortest text is the float's: 0.1f is shown as 0.1, and reads back as the same float.
inline double readable(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double wide = static_cast<double>(value);
  std::from_chars(text, end, wide);
  return wide;
}

}  // namespace coterie
