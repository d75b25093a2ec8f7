#include "base/linear/inverse_root.h"

#include <algorithm>
#include <cmath>

#include "base/linear/symmetric_eigen.h"

namespace coterie {
namespace {

constexpr double kShareLeast = 1e-7;  // of the largest eigenvalue: what float32 leaves of a sum of squares
constexpr double kLeast = 1e-30;      // of a matrix of zeros without damping

}  // namespace

template <typename T>
void inverse_fourth_root(size_t n, T damping, const T* matrix, T* root, double* scratch) {
  double* const vectors = scratch;  // one a row
  double* const values = scratch + n * n;
  double* const sum = values + n;
  for (size_t i = 0; i < n * n; ++i) vectors[i] = static_cast<double>(matrix[i]);
  symmetric_eigen(n, vectors, values, sum);
  const double largest = n == 0 ? 0 : *std::max_element(values, values + n);
  const double least = std::max(kShareLeast * largest, kLeast);
  for (size_t k = 0; k < n; ++k) {
    values[k] = 1 / std::sqrt(std::sqrt(std::max(values[k] + static_cast<double>(damping), least)));
  }
  for (size_t i = 0; i < n; ++i) {
    std::fill_n(sum, n, 0.0);
    for (size_t k = 0; k < n; ++k) {
      const double* const vector = vectors + k * n;
      const double factor = values[k] * vector[i];
      for (size_t j = 0; j < n; ++j) sum[j] += factor * vector[j];
    }
    for (size_t j = 0; j < n; ++j) root[i * n + j] = static_cast<T>(sum[j]);
  }
}

template void inverse_fourth_root(size_t, float, const float*, float*, double*);
template void inverse_fourth_root(size_t, double, const double*, double*, double*);

}  // namespace coterie
