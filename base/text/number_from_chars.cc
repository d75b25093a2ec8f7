#include "base/text/number_from_chars.h"

#include <locale.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <cmath>
#include <string>
#include <string_view>

namespace coterie {
namespace {

size_t digits_at(std::string_view text, size_t at) {
  size_t count = 0;
  while (at + count < text.size() && text[at + count] >= '0' && text[at + count] <= '9') ++count;
  return count;
}

// How much of the text is a number by from_chars' grammar: strtod takes more (blanks, a plus, hexadecimal).
size_t length_of(std::string_view text) {
  const size_t sign = text.starts_with('-') ? 1 : 0;
  for (const std::string_view word : {"infinity", "inf", "nan"}) {
    std::string begin(text.substr(sign, word.size()));
    for (char& letter : begin) letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
    if (begin == word) return sign + word.size();
  }
  size_t at = sign + digits_at(text, sign);
  size_t digits = at - sign;
  if (at < text.size() && text[at] == '.') {
    const size_t behind = digits_at(text, at + 1);
    digits += behind;
    if (digits > 0) at += 1 + behind;
  }
  if (digits == 0) return 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const size_t plus = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-') ? 1 : 0;
    const size_t exponent = digits_at(text, at + 1 + plus);
    if (exponent > 0) at += 1 + plus + exponent;
  }
  return at;
}

locale_t c_locale() {
  static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

template <typename Float, typename Read>
std::from_chars_result read_float(const char* first, const char* last, Float& value, Read read) {
  const std::string number(first, length_of({first, static_cast<size_t>(last - first)}));
  if (number.empty()) return {first, std::errc::invalid_argument};
  const Float found = read(number.c_str());
  const char* const end = first + number.size();
  // Beyond the range strtod gives infinity, or 0 of digits that are not all 0.
  const bool is_word = number.find_first_of("nN") != std::string::npos;
  const bool has_digit = number.substr(0, number.find_first_of("eE")).find_first_of("123456789") != std::string::npos;
  if (!is_word && (std::isinf(found) || (found == 0 && has_digit))) return {end, std::errc::result_out_of_range};
  value = found;
  return {end, std::errc()};
}

}  // namespace

std::from_chars_result float_by_strtod(const char* first, const char* last, float& value) {
  return read_float(first, last, value, [](const char* text) { return ::strtof_l(text, nullptr, c_locale()); });
}

std::from_chars_result float_by_strtod(const char* first, const char* last, double& value) {
  return read_float(first, last, value, [](const char* text) { return ::strtod_l(text, nullptr, c_locale()); });
}

}  // namespace coterie
