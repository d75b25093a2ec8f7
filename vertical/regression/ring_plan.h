// RingPlan: how the numbers of a regression lie in Z_2^64, and which rows each step takes.
//
// A number x at scale f is round(x * 2^f) modulo 2^64. Products add their scales; nothing is rounded between a step's
// begin and its one truncation, which takes the step's change of the weights from scale 56 back to 32:
//
//   columns                  16    each value is clipped to +-16
//   weights                  32
//   margins                  48    looked at modulo 64 alone, so they may wrap
//   residuals                40-m  times rate * 2^m / rows, where 2^m is the first power of two not below a step's rows
//   their sum over a step    56-m  and 2^-m is left: that is scale 56 of the change
//
// |change| < 2^62 at scale 56: residuals are below 1.3, so that a sum is below rate * 1.3 * 2^60, and lambda adds
// rate * lambda * |w| * 2^56, below 2^59 while weights are below 64.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "vertical/regression/regression_settings.h"

namespace coterie::vertical {

// A share or an opened number of the ring. Unsigned: it wraps.
using Word = uint64_t;

constexpr uint32_t kRegressionRowsMax = 1u << 22;
constexpr uint32_t kRegressionColumnsMax = 1u << 12;  // of a party, the intercept among them
constexpr uint64_t kRegressionCellsMax = 1ull << 27;  // rows times columns of both: 1 GiB of words
constexpr uint32_t kChunkRows = 256;                  // that a dealer makes at once

constexpr int kColumnBits = 16;
constexpr int kWeightBits = 32;
constexpr int kMarginBits = kColumnBits + kWeightBits;
constexpr int kChangeBits = 56;
constexpr int kTruncatedBits = kChangeBits - kWeightBits;
constexpr double kColumnMax = 16.0;

// All that whoever deals to the parties needs to know: no setting of the model, no value.
struct RegressionShape {
  uint32_t rows = 0;
  uint32_t label_columns = 0;  // the intercept among them
  uint32_t feature_columns = 0;
  uint32_t batch = 0;
  uint32_t epochs = 0;

  uint32_t columns() const { return label_columns + feature_columns; }
  friend bool operator==(const RegressionShape&, const RegressionShape&) = default;
};

// invalid_argument names what is out of range.
Status check_regression_shape(const RegressionShape& shape);

class RingPlan {
 public:
  // A shape that is checked.
  explicit RingPlan(const RegressionShape& shape) : shape_(shape) {}

  uint32_t step_rows_max() const { return shape_.batch < shape_.rows ? shape_.batch : shape_.rows; }
  uint32_t batches() const { return (shape_.rows + step_rows_max() - 1) / step_rows_max(); }
  uint32_t steps() const { return batches() * shape_.epochs; }
  uint32_t batch_of(uint32_t step) const { return step % batches(); }
  uint32_t first_row(uint32_t step) const { return batch_of(step) * step_rows_max(); }
  uint32_t rows_of(uint32_t step) const {
    const uint32_t left = shape_.rows - first_row(step);
    return left < step_rows_max() ? left : step_rows_max();
  }

  int batch_bits() const { return std::bit_width(step_rows_max() - 1); }  // m
  int residual_bits() const { return 40 - batch_bits(); }
  // A residual is a sum of public factors times dealt sines; these are their scales.
  int factor_bits() const { return residual_bits() / 2; }
  int sine_bits() const { return residual_bits() - factor_bits(); }

  const RegressionShape& shape() const { return shape_; }

 private:
  RegressionShape shape_;
};

inline Word to_ring(double value, int bits) { return static_cast<Word>(std::llround(std::ldexp(value, bits))); }
inline double from_ring(Word word, int bits) {
  return std::ldexp(static_cast<double>(static_cast<int64_t>(word)), -bits);
}

}  // namespace coterie::vertical
