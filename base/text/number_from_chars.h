// std::from_chars with floats and doubles, which LLVM's library lacks before version 20: that of Android's NDK and of
// Apple's systems. Elsewhere it is std::from_chars itself.
#pragma once

#include <charconv>
#include <type_traits>

namespace coterie {

// As std::from_chars (C++20, [charconv.from.chars]) with chars_format::general, by strtod in the "C" locale.
std::from_chars_result float_by_strtod(const char* first, const char* last, float& value);
std::from_chars_result float_by_strtod(const char* first, const char* last, double& value);

template <typename Number>
std::from_chars_result number_from_chars(const char* first, const char* last, Number& value) {
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
  if constexpr (std::is_floating_point_v<Number>) {
    return float_by_strtod(first, last, value);
  } else {
    return std::from_chars(first, last, value);
  }
#else
  return std::from_chars(first, last, value);
#endif
}

}  // namespace coterie
