#include "model_io/field_text.h"

#include <charconv>
#include <cmath>

namespace coterie {

std::optional<double> number_in(std::string_view field) {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_missing(std::string_view field) {
  if (field.empty()) return true;
  if (field.size() > 4) return false;
  std::string small(field);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const char* marker : {"?", "na", "n/a", "nan", "null", "none"}) {
    if (small == marker) return true;
  }
  return false;
}

bool comes_before(const std::string& a, const std::string& b) {
  const auto x = number_in(a), y = number_in(b);
  if (x && y && *x != *y) return *x < *y;
  if (x.has_value() != y.has_value()) return x.has_value();
  return a < b;
}

}  // namespace coterie
