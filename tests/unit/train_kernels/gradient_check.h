// Central differences in double, for the reference's backward passes.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/random.h"
#include "tests/support/central_difference.h"
#include "train_kernels/kernel_table.h"

namespace coterie::kernels::test {

using Doubles = std::vector<double>;

inline constexpr double kStep = 1e-5;  // error of a central difference: kStep^2 f''' / 6 plus 1e-16 / kStep
inline constexpr double kTolerance = 1e-8;

inline const KernelTableOf<double>& exact() { return reference_kernels<double>(); }

inline Doubles random(size_t count, Prng& prng, double low = -1, double high = 1) {
  Doubles values(count);
  for (double& value : values) value = prng.uniform(low, high);
  return values;
}

inline double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// `gradient` is that of scalar() by `at`, which scalar reads.
inline void expect_gradient(const char* what, Doubles& at, const Doubles& gradient,
                            const std::function<double()>& scalar, double tolerance = kTolerance) {
  for (size_t i = 0; i < at.size(); ++i) {
    const double slope = coterie::test::central_difference(at[i], kStep, scalar);
    ASSERT_NEAR(gradient[i], slope, tolerance) << what << "[" << i << "]";
  }
}

}  // namespace coterie::kernels::test
