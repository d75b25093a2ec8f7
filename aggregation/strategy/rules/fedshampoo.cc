#include <limits>
#include <vector>

#include "aggregation/strategy/adam_step.h"
#include "aggregation/strategy/strategy_matrix.h"
#include "base/linear/inverse_root.h"
#include "base/linear/matrix_blocks.h"
#include "base/linear/step_length.h"

namespace coterie::strategy {
namespace {

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 0.01f, kAboveZero, "factor of each step"},
    {"damping", 0.0001f, kAboveZero, "what the sums of squares of a linear map begin with"},
    {"beta1", 0.9f, kFromZeroBelowOne, "memory of the first moment, of all other values"},
    {"beta2", 0.99f, kFromZeroBelowOne, "memory of the second moment, likewise"},
    {"tau", 0.001f, kAboveZero, "added to the root of the second moment, likewise"},
};

using Values = std::vector<double>;

// L and R of a block, behind those of the blocks before it: five vectors have room for all (matrix_blocks.h).
class Factors {
 public:
  Factors(std::span<const std::span<float>> state, const MatrixBlock& block)
      : state_(state), first_(block.first_factor) {}
  float& operator[](size_t i) const {
    const uint64_t at = first_ + i, vector = at / state_[0].size();
    return state_[vector][at % state_[0].size()];
  }

 private:
  std::span<const std::span<float>> state_;
  uint64_t first_;
};

// c = a b, [m, k] by [k, n].
Values product(size_t m, size_t k, size_t n, const Values& a, const Values& b) {
  Values c(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t p = 0; p < k; ++p) {
      const double factor = a[i * k + p];
      for (size_t j = 0; j < n; ++j) c[i * n + j] += factor * b[p * n + j];
    }
  }
  return c;
}

// Adds `square`, [n, n], to the sum that begins at value `first` of the factors; gives the root of what it is then.
Values add_and_root(const Factors& factors, size_t first, size_t n, const Values& square, double damping) {
  Values sum(n * n), root(n * n), scratch(inverse_root_scratch(n));
  for (size_t i = 0; i < sum.size(); ++i) {
    float& stored = factors[first + i];
    stored += static_cast<float>(square[i]);
    sum[i] = static_cast<double>(stored);
  }
  inverse_fourth_root(n, damping, sum.data(), root.data(), scratch.data());
  return root;
}

// L <- L + M M^T;  R <- R + M^T M;  w <- w + eta 0.2 sqrt(max(rows, columns)) (L + damping I)^(-1/4) M (R + damping
// I)^(-1/4), of the mean M in each block: what Shampoo does on a device (device_sdk/runtime/shampoo_step.h), with the
// roots of every round.
void move_block(const StrategyMatrix& matrix, const MatrixBlock& block) {
  const size_t rows = block.rows, columns = block.columns;
  Values m(rows * columns), turned(rows * columns);
  const auto place = [&](size_t r, size_t c) { return (block.row + r) * matrix.columns + block.column + c; };
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      m[r * columns + c] = turned[c * rows + r] = static_cast<double>(matrix.mean[place(r, c)]);
    }
  }
  const double damping = static_cast<double>(matrix.settings[1]);
  const Factors factors(matrix.state, block);
  const Values left = add_and_root(factors, 0, rows, product(rows, columns, rows, m, turned), damping);
  const Values right = add_and_root(factors, rows * rows, columns, product(columns, rows, columns, turned, m), damping);
  const Values u = product(rows, columns, columns, product(rows, rows, columns, left, m), right);
  const double factor = static_cast<double>(matrix.settings[0]) * adam_step_length(rows, columns);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) matrix.step[place(r, c)] = static_cast<float>(factor * u[r * columns + c]);
  }
}

void move_matrix(const StrategyMatrix& matrix) {
  const MatrixBlocks blocks(matrix.rows, matrix.columns);
  for (size_t i = 0; i < blocks.count(); ++i) move_block(matrix, blocks[i]);
}

}  // namespace

extern const StrategyRule kFedShampoo = {
    .name = "fedshampoo",
    .stored_as = 14,
    .sentence = "linear maps by the mean between roots of the sums of its squares, everything else as fedadam",
    .source = "Gupta et al. 2018, algorithm 1, in blocks of at most 128 x 128",
    .learning_rate_advised = 0.05,
    .settings = kSettings,
    .state_vectors = 5,
    .apply = adam_step_of_others,
    .move_matrix = move_matrix,
    .matrix_side_max = std::numeric_limits<size_t>::max(),
};

}  // namespace coterie::strategy
