#include "tools/micro/number_text.h"

#include <charconv>
#include <cmath>

namespace coterie {

std::string float_text(float value) {
  const std::string sign = std::signbit(value) ? "-" : "";
  if (value == 0) return sign + "0.0f";
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, std::abs(value), std::chars_format::hex);
  return sign + "0x" + std::string(digits, end) + "f";
}

std::string list_text(std::span<const float> values) {
  constexpr size_t kPerLine = 6;
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i % kPerLine == 0 ? "  " : " ") + float_text(values[i]);
    if (i + 1 < values.size()) text += ",";
    if (i % kPerLine == kPerLine - 1 || i + 1 == values.size()) text += "\n";
  }
  return text;
}

std::string sizes_text(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text.empty() ? "1" : text;
}

}  // namespace coterie
