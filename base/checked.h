// Arithmetic on sizes that came from outside: overflow is an answer, not a surprise.
#pragma once

#include <concepts>
#include <cstdint>
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

// Whether a float32 is a whole number of an int32, as a label or an index among numbers has to be: from -2^31 to the
// last float32 below 2^31. False for what is not finite.
constexpr bool is_whole_int32(float value) {
  return value >= -0x1p31f && value < 0x1p31f && static_cast<float>(static_cast<int32_t>(value)) == value;
}

// The smallest multiple of `step` (a power of two) that is at least `value`.
template <std::unsigned_integral T>
constexpr T round_up(T value, T step) {
  return (value + step - 1) & ~(step - 1);
}

}  // namespace coterie
