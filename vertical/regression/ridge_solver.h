// The normal equations of a ridge regression, solved.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"

namespace coterie::vertical {

// (M + lambda I) w = r, without lambda in the row of `intercept`: M is symmetric and positive semi-definite,
// [row * size + column], and only its lower half is read. `refused` with the reason "columns_dependent" if the left
// side is singular but for rounding.
Result<std::vector<double>> solve_ridge(std::vector<double> matrix, std::vector<double> right, double lambda,
                                        size_t intercept);

}  // namespace coterie::vertical
