#include "vertical/regression/ridge_solver.h"

#include <cmath>

namespace coterie::vertical {
namespace {

constexpr double kPivotMin =
    1e-11;  // of columns of deviation 1: below it a column is a sum of others, but for rounding

}  // namespace

Result<std::vector<double>> solve_ridge(std::vector<double> matrix, std::vector<double> right, double lambda,
                                        size_t intercept) {
  const size_t size = right.size();
  for (size_t i = 0; i < size; ++i) {
    if (i != intercept) matrix[i * size + i] += lambda;
  }
  // Cholesky, in place.
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * size + j];
      for (size_t k = 0; k < j; ++k) sum -= matrix[i * size + k] * matrix[j * size + k];
      if (i != j) {
        matrix[i * size + j] = sum / matrix[j * size + j];
        continue;
      }
      if (!(sum > kPivotMin)) {
        return Error(ErrorCode::refused,
                     "regression: some columns of both parties are sums of others, so that no weights are the best; "
                     "raise lambda, or leave columns out",
                     "columns_dependent");
      }
      matrix[i * size + i] = std::sqrt(sum);
    }
  }
  for (size_t i = 0; i < size; ++i) {
    for (size_t k = 0; k < i; ++k) right[i] -= matrix[i * size + k] * right[k];
    right[i] /= matrix[i * size + i];
  }
  for (size_t i = size; i-- > 0;) {
    for (size_t k = i + 1; k < size; ++k) right[i] -= matrix[k * size + i] * right[k];
    right[i] /= matrix[i * size + i];
  }
  return right;
}

}  // namespace coterie::vertical
