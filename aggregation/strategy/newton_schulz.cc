#include "aggregation/strategy/newton_schulz.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace coterie::strategy {
namespace {

constexpr int kIterations = 5;
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr double kNormAtLeast = 1e-7;

using Values = std::vector<double>;

// Four sums side by side, in an order of their own that no compiler may change.
double dot(const double* a, const double* b, size_t n) {
  double sums[4] = {};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// [rows, columns] to [columns, rows].
void transpose(size_t rows, size_t columns, const double* x, double* y) {
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < columns; ++k) y[k * rows + i] = x[i * columns + k];
  }
}

// The symmetric a a^T of a, [n, inner].
void square_of(size_t n, size_t inner, const double* a, double* square) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) square[i * n + j] = square[j * n + i] = dot(a + i * inner, a + j * inner, inner);
  }
}

// x is [side, length], side <= length.
void iterate(size_t side, size_t length, double* x) {
  Values gram(side * side), polynomial(side * side), next(side * length);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    square_of(side, length, x, gram.data());
    square_of(side, side, gram.data(), polynomial.data());  // gram is symmetric
    for (size_t i = 0; i < gram.size(); ++i) polynomial[i] = kB * gram[i] + kC * polynomial[i];
    for (size_t i = 0; i < side; ++i) {
      double* const row = next.data() + i * length;
      for (size_t k = 0; k < length; ++k) row[k] = kA * x[i * length + k];
      for (size_t j = 0; j < side; ++j) {
        const double factor = polynomial[i * side + j];
        for (size_t k = 0; k < length; ++k) row[k] += factor * x[j * length + k];
      }
    }
    std::ranges::copy(next, x);
  }
}

}  // namespace

void orthogonalise(size_t rows, size_t columns, std::span<double> x) {
  const double norm = std::sqrt(dot(x.data(), x.data(), x.size()));
  for (double& value : x) value /= norm + kNormAtLeast;
  if (rows <= columns) return iterate(rows, columns, x.data());
  Values wide(x.size());
  transpose(rows, columns, x.data(), wide.data());
  iterate(columns, rows, wide.data());
  transpose(columns, rows, wide.data(), x.data());
}

}  // namespace coterie::strategy
