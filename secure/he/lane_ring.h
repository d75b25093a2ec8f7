// LaneRing: arithmetic modulo an odd number or its square by a LaneKernel. Rows are in Montgomery's form: x is held as
// x R. Private to secure/he.
//
// Constant time but for the sizes: products, powers and what is selected from tables. Divisions at the border, from and
// to libcrypto's integers, are as constant in time as libcrypto's own.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "secure/he/big_number.h"
#include "secure/he/lane_kernel.h"
#include "secure/he/lane_words.h"

namespace coterie::he {

enum class Modulo : uint8_t { n = 0, square_of_n = 1 };

class LaneRing {
 public:
  // `kernel` stays where it is as long as this object.
  LaneRing(const LaneKernel& kernel, const Big& n, Modulo modulo, const BigContext& context);
  LaneRing(const LaneRing&) = delete;
  LaneRing& operator=(const LaneRing&) = delete;

  const LaneKernel& kernel() const { return kernel_; }
  size_t words() const { return words_; }
  LaneWords row() const { return LaneWords(words_); }
  LaneWords lanes() const { return LaneWords(kLanes * words_); }
  // The neutral row.
  const LaneWords& one() const { return one_; }

  // Numbers below the modulus as rows.
  std::vector<LaneWords> rows_of(std::span<const Big> numbers, const BigContext& context) const;
  // The first `count` lanes as such numbers.
  std::vector<Big> numbers_of(const LaneWords& lanes, size_t count, const BigContext& context) const;

  void multiply(const LaneWords& a, const LaneWords& b, LaneWords& out) const {
    (has_high_ ? kernel_.multiply : kernel_.multiply_low)(modulus_, a.data(), b.data(), out.data());
  }
  void square(LaneWords& lanes) const {
    if (!has_high_) return multiply(lanes, lanes, lanes);
    kernel_.square(modulus_, lanes.data(), lanes.data());
  }

  // At most eight rows into lanes; lanes without a row hold one().
  void load(std::span<const uint64_t* const> rows, LaneWords& lanes) const;
  // As many lanes as there are rows.
  void store(const LaneWords& lanes, std::span<uint64_t* const> rows) const;
  void set_lane(LaneWords& lanes, size_t lane, const uint64_t* row) const;
  LaneWords lane_of(const LaneWords& lanes, size_t lane) const;

 private:
  void write_row(const Big& number, uint64_t* row, const BigContext& context) const;
  LaneWords eight_times(const Big& number) const;

  const LaneKernel& kernel_;
  Big n_;
  bool has_high_;  // modulo n^2
  Big ring_;       // n or n^2
  size_t digits_;
  size_t words_;
  LaneWords n_lanes_, offset_lanes_;
  LaneModulus modulus_;
  LaneWords one_;
  LaneWords to_form_, from_form_;  // R^2 and 1, in lanes
};

}  // namespace coterie::he
