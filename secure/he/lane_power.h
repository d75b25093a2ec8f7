// Powers modulo a LaneRing, eight at a time. Private to secure/he.
//
// Constant time: both forms. Each digit of an exponent costs a pass over the whole table and a product, whatever it is.
#pragma once

#include <span>
#include <vector>

#include "secure/he/lane_ring.h"

namespace coterie::he {

// Digits of exponents have 5 bits: wider ones would make passes over tables dearer than the products they save.
inline constexpr size_t kPowerDigitBits = 5;
inline constexpr size_t kPowerEntries = size_t{1} << kPowerDigitBits;
constexpr size_t power_digits(size_t bits) { return (bits + kPowerDigitBits - 1) / kPowerDigitBits; }

// The digits of a number of at most `bits` bits, the least first; wiped at the end, as they are secret.
class PowerDigits {
 public:
  PowerDigits(const Big& number, size_t bits);
  ~PowerDigits() { wipe(digits_); }
  PowerDigits(const PowerDigits&) = delete;
  PowerDigits& operator=(const PowerDigits&) = delete;
  uint8_t operator[](size_t i) const { return digits_[i]; }
  size_t size() const { return digits_.size(); }

 private:
  Bytes digits_;
};

// base^exponent in each lane, with one exponent for all.
void raise_lanes(const LaneRing& modulus, LaneWords& base, const PowerDigits& exponent);

// Tables from which each lane takes one entry a window: powers of one base by an exponent's digits (E. Brickell et al.,
// Eurocrypt 1992), or products of subsets of five rows.
class LaneTables {
 public:
  // `modulus` stays as long as this object.
  explicit LaneTables(const LaneRing& modulus) : modulus_(modulus) {}

  // Windows for the exponents of `base` with at most `bits` bits, the least digit first.
  void add_powers(const LaneWords& base, size_t bits);
  // A window: entry k is the product of the rows whose bit is set in k.
  void add_subsets(std::span<const LaneWords, kPowerDigitBits> rows);

  size_t windows() const { return windows_.size(); }
  // product *= for each window the entry that the lane's digit says: digits[8 window + lane].
  void multiply(std::span<const uint8_t> digits, LaneWords& product) const;

 private:
  void set_entry(LaneWords& table, size_t number, const LaneWords& row) const;

  const LaneRing& modulus_;
  std::vector<LaneWords> windows_;  // kPowerEntries rows each, as select_rows() reads them
};

}  // namespace coterie::he
