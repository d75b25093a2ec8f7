#include "device_sdk/runtime/settings_text.h"

#include <cstdio>

namespace coterie {

SettingsText& SettingsText::add(std::string_view word) {
  if (word.empty()) return *this;
  if (!text_.empty()) text_ += ", ";
  text_ += word;
  return *this;
}

SettingsText& SettingsText::add(std::string_view name, std::string_view value) {
  return add(std::string(name) + " " + std::string(value));
}

SettingsText& SettingsText::add(std::string_view name, double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%g", value);
  return add(name, std::string_view(digits));
}

SettingsText& SettingsText::add(std::string_view name, size_t height, size_t width) {
  return add(name, std::string_view(std::to_string(height) + "x" + std::to_string(width)));
}

SettingsText& SettingsText::add_padding(size_t top, size_t left, size_t bottom, size_t right) {
  if (top + left + bottom + right == 0) return *this;
  std::string sides;
  for (const size_t side : {top, left, bottom, right}) sides += (sides.empty() ? "" : ",") + std::to_string(side);
  return add("padding", std::string_view(sides));
}

SettingsText& SettingsText::add(kernels::Activation activation) {
  switch (activation) {
    case kernels::Activation::none: return *this;
    case kernels::Activation::relu: return add("relu");
    case kernels::Activation::relu6: return add("relu6");
  }
  return *this;
}

}  // namespace coterie
