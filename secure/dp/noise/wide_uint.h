// WideUint: unsigned integers below 2^640, for the few thousand exact steps behind a noise table.
//
// All operations are exact; those that lose something say how much. What does not fit is a defect of ours and asserts.
// The time depends on the values: tables are public.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coterie {

class WideUint {
 public:
  static constexpr int kLimbs = 10;
  static constexpr int kBits = 64 * kLimbs;

  WideUint() = default;
  explicit WideUint(uint64_t value) { limbs_[0] = value; }
  static WideUint power_of_two(int exponent) { return WideUint(1) << exponent; }

  WideUint& operator+=(const WideUint& other);
  WideUint& operator-=(const WideUint& other);  // *this >= other
  WideUint operator<<(int count) const;         // no bit is lost
  WideUint operator>>(int count) const;         // rounded down
  WideUint times(uint64_t factor) const;
  WideUint divided_by(uint64_t divisor) const;  // rounded down; divisor > 0

  // *this * other / 2^shift, rounded down.
  WideUint times(const WideUint& other, int shift) const;

  bool operator==(const WideUint&) const = default;
  bool operator<(const WideUint& other) const;

  int bit_width() const;  // position behind the highest set bit, 0 for zero
  uint64_t low() const { return limbs_[0]; }

  // The nearest double within one part in 2^52; infinite where it is too large for one.
  double to_double() const;

 private:
  std::array<uint64_t, kLimbs> limbs_{};  // the lowest first
};

}  // namespace coterie
