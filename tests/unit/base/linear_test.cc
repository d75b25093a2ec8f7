#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/linear/inverse_root.h"
#include "base/linear/matrix_blocks.h"
#include "base/linear/symmetric_eigen.h"
#include "base/random.h"

namespace coterie {
namespace {

using Matrix = std::vector<double>;

// G G^T, G of [n, rank].
Matrix sum_of_squares(size_t n, size_t rank, uint64_t seed) {
  Prng prng(seed);
  Matrix g(n * rank), a(n * n);
  for (double& value : g) value = prng.normal();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t k = 0; k < rank; ++k) a[i * n + j] += g[i * rank + k] * g[j * rank + k];
    }
  }
  return a;
}

Matrix product(size_t n, const Matrix& a, const Matrix& b) {
  Matrix c(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < n; ++k) {
      for (size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
  return c;
}

// NaN where one of them has such a value, which is less than no bound.
double distance(const Matrix& a, const Matrix& b) {
  double most = 0;
  for (size_t i = 0; i < a.size() && !std::isnan(most); ++i) {
    const double apart = std::fabs(a[i] - b[i]);
    if (!(apart <= most)) most = apart;
  }
  return most;
}

Matrix identity(size_t n, double factor) {
  Matrix one(n * n);
  for (size_t i = 0; i < n; ++i) one[i * n + i] = factor;
  return one;
}

TEST(SymmetricEigen, GivesTheMatrixBackFromRowsOfLengthOne) {
  for (const size_t n : {1u, 2u, 3u, 7u, 24u}) {
    for (const size_t rank : {0u, 1u, 40u}) {
      SCOPED_TRACE(std::to_string(n) + " of rank " + std::to_string(rank));
      const Matrix a = sum_of_squares(n, rank, n);
      Matrix v = a, values(n), scratch(n);
      for (size_t i = 0; i < n; ++i) std::fill_n(v.begin() + static_cast<ptrdiff_t>(i * n), i, -1);  // is not read
      symmetric_eigen(n, v.data(), values.data(), scratch.data());
      Matrix scaled = v, turned(n * n);
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          scaled[i * n + j] *= values[i];
          turned[j * n + i] = v[i * n + j];
        }
      }
      EXPECT_LT(distance(product(n, turned, scaled), a), 1e-12);
      EXPECT_LT(distance(product(n, v, turned), identity(n, 1)), 1e-13);
    }
  }
}

// Squares of what rounding leaves of such a matrix vanish, and a rotation by 0 / 0 was none.
TEST(SymmetricEigen, TakesAMatrixWhoseRowsAreAllAlike) {
  for (const size_t n : {30u, 31u, 45u}) {
    for (const double value : {0.1, 1.0, 3.0}) {
      Matrix v(n * n, value), values(n), scratch(n), turned(n * n);
      symmetric_eigen(n, v.data(), values.data(), scratch.data());
      for (size_t i = 0; i < n * n; ++i) turned[i % n * n + i / n] = v[i];
      EXPECT_LT(distance(product(n, v, turned), identity(n, 1)), 1e-13) << n << " " << value;
      EXPECT_NEAR(*std::max_element(values.begin(), values.end()), static_cast<double>(n) * value, 1e-12);
    }
  }
}

TEST(SymmetricEigen, ComesToAnEndWhateverItIsGiven) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300}) {
    for (const size_t at : {0u, 6u, 35u}) {
      Matrix a = sum_of_squares(6, 6, 1), values(6), scratch(6);
      a[at] = bad;
      symmetric_eigen(6, a.data(), values.data(), scratch.data());
    }
  }
}

TEST(InverseRoot, ItsFourthPowerIsTheInverse) {
  for (const size_t n : {1u, 3u, 20u}) {
    Matrix a = sum_of_squares(n, n + 5, 3), root(n * n), scratch(inverse_root_scratch(n));
    inverse_fourth_root(n, 0.01, a.data(), root.data(), scratch.data());
    for (size_t i = 0; i < n; ++i) a[i * n + i] += 0.01;
    const Matrix square = product(n, root, root);
    EXPECT_LT(distance(product(n, product(n, square, square), a), identity(n, 1)), 1e-9) << n;
  }
}

// A sum of squares in float32 may have eigenvalues a little below 0, and a matrix of zeros has no root at all.
TEST(InverseRoot, IsFiniteWithoutDampingToo) {
  for (const float low : {0.0f, -1e-6f}) {
    const float a[] = {low, 0, 0, 4};
    float root[4];
    double scratch[inverse_root_scratch(2)];
    inverse_fourth_root(2, 0.0f, a, root, scratch);
    EXPECT_FLOAT_EQ(root[0], std::pow(4e-7f, -0.25f)) << low;
    EXPECT_FLOAT_EQ(root[3], std::pow(4.0f, -0.25f));
  }
  const float zeros[4] = {};
  float root[4];
  double scratch[inverse_root_scratch(2)];
  inverse_fourth_root(2, 0.0f, zeros, root, scratch);
  for (const float value : root) EXPECT_TRUE(std::isfinite(value));
}

TEST(MatrixBlocks, CoverTheMatrixAndNeedFewFactors) {
  for (const size_t rows : {2u, 3u, 9u, 100u, 128u, 129u, 257u, 784u}) {
    for (const size_t columns : {2u, 5u, 10u, 32u, 127u, 128u, 129u, 513u}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      const MatrixBlocks blocks(rows, columns);
      std::vector<int> covered(rows * columns);
      uint64_t factors = 0;
      for (size_t i = 0; i < blocks.count(); ++i) {
        const MatrixBlock block = blocks[i];
        EXPECT_EQ(block.first_factor, factors);
        factors += block.factor_values();
        EXPECT_LE(std::max(block.rows, block.columns), kBlockSideMax);
        EXPECT_LE(std::max(block.rows, block.columns), kBlockAspectMax * std::min(block.rows, block.columns));
        for (size_t r = 0; r < block.rows; ++r) {
          for (size_t c = 0; c < block.columns; ++c) ++covered[(block.row + r) * columns + block.column + c];
        }
      }
      EXPECT_EQ(blocks.factor_values(), factors);
      EXPECT_LE(4 * factors, 17 * rows * columns);
      EXPECT_EQ(std::count(covered.begin(), covered.end(), 1), static_cast<ptrdiff_t>(covered.size()));
    }
  }
  EXPECT_EQ(MatrixBlocks(128, 128).count(), 1u);
}

}  // namespace
}  // namespace coterie
