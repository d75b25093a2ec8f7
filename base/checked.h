// Arithmetic on sizes that came from outside: overflow is an answer, not a surprise.
#pragma once

#include <concepts>
#include <optional>

namespace coterie {

template <std::integral T>
[[nodiscard]] std::optional<T> checked_add(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::integral T>
[[nodiscard]] std::optional<T> checked_multiply(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The smallest multiple of `step` (a power of two) that is at least `value`.
template <std::unsigned_integral T>
constexpr T round_up(T value, T step) {
  return (value + step - 1) & ~(step - 1);
}

}  // namespace coterie
