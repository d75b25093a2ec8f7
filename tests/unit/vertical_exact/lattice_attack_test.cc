// Labels from a first gradient: why a batch with twice as many people as columns is not enough.
//
// Where every margin is 0 a residual is 1/2 - label, so that a gradient says t = sum x e with e of -1 and 1. Vectors
// (e, 1, K (sum x e - t)) are a lattice, in which the labels' is short: reduction finds it (A. Lenstra, H. Lenstra,
// L. Lovasz, Factoring polynomials with rational coefficients, 1982).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/random.h"
#include "vertical/exact/exact_settings.h"

namespace coterie::vertical {
namespace {

using Basis = std::vector<std::vector<double>>;  // of whole numbers

double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Gram-Schmidt anew in each turn: slow, and right for as few vectors as here.
class Reduction {
 public:
  explicit Reduction(Basis basis) : basis_(std::move(basis)), orthogonal_(basis_), squares_(basis_.size()) {}

  Basis reduced() {
    size_t known = 0, k = 1;
    while (k < basis_.size()) {
      for (; known <= k; ++known) orthogonalise(known);
      for (size_t j = k; j-- > 0;) {
        const double times = std::round(product(basis_[k], orthogonal_[j]) / squares_[j]);
        for (size_t i = 0; times != 0 && i < basis_[k].size(); ++i) basis_[k][i] -= times * basis_[j][i];
      }
      const double mu = product(basis_[k], orthogonal_[k - 1]) / squares_[k - 1];
      if (squares_[k] >= (0.99 - mu * mu) * squares_[k - 1]) {
        ++k;
      } else {
        std::swap(basis_[k], basis_[k - 1]);
        known = k - 1;
        k = std::max<size_t>(k - 1, 1);
      }
    }
    return basis_;
  }

 private:
  void orthogonalise(size_t k) {
    orthogonal_[k] = basis_[k];
    for (size_t j = 0; j < k; ++j) {
      const double mu = product(basis_[k], orthogonal_[j]) / squares_[j];
      for (size_t i = 0; i < basis_[k].size(); ++i) orthogonal_[k][i] -= mu * orthogonal_[j][i];
    }
    squares_[k] = product(orthogonal_[k], orthogonal_[k]);
  }

  Basis basis_, orthogonal_;
  std::vector<double> squares_;
};

// Whether reduction tells each label of so many people from their first gradient.
bool finds_labels(size_t rows, size_t columns, uint64_t seed) {
  constexpr double kFactor = 128;  // a vector that misses the gradient is long
  Prng prng(seed);
  std::vector<double> signs(rows), target(columns);
  Basis basis(rows + 1, std::vector<double>(rows + 1 + columns));
  for (double& sign : signs) sign = prng.below(2) == 0 ? -1 : 1;
  for (size_t row = 0; row < rows; ++row) {
    basis[row][row] = 1;
    for (size_t c = 0; c < columns; ++c) {
      const double value = std::round(std::ldexp((prng.uniform() - 0.5) * std::sqrt(12), kExactColumnBits));
      basis[row][rows + 1 + c] = kFactor * value;
      basis[rows][rows + 1 + c] -= kFactor * value * signs[row];
    }
  }
  basis[rows][rows] = 1;
  for (const std::vector<double>& vector : Reduction(std::move(basis)).reduced()) {
    bool is_found = true;
    for (size_t row = 0; row < rows; ++row) is_found = is_found && vector[row] == signs[row] * vector[rows];
    if (is_found && vector[rows] != 0) return true;
  }
  return false;
}

TEST(LatticeAttack, FindsAllLabelsOfSixTimesAsManyPeopleAsColumns) {
  for (uint64_t seed = 0; seed < 5; ++seed) EXPECT_TRUE(finds_labels(24, 4, seed)) << seed;
  EXPECT_FALSE(finds_labels(24, 1, 0)) << "other labels have the same gradient";
  EXPECT_GT(exact_rows_min(4), 4 * 24u);
}

}  // namespace
}  // namespace coterie::vertical
