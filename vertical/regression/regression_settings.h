// What both parties of a logistic regression must agree on; it is a part of the job's manifest.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace coterie::vertical {

// Gradient descent on mean log loss + lambda / 2 * |w|^2, without the intercept's weight, over columns that each party
// has brought to mean 0 and standard deviation 1. Batches are consecutive rows in the matched order, which is random.
struct RegressionSettings {
  uint32_t epochs = 200;
  uint32_t batch = 1024;  // rows of a step; the last of an epoch may have fewer
  double rate = 0.5;
  double lambda = 0.01;

  friend bool operator==(const RegressionSettings&, const RegressionSettings&) = default;
};

constexpr uint32_t kRegressionEpochsMax = 10'000;
constexpr uint32_t kRegressionBatchMin = 16;
constexpr uint32_t kRegressionBatchMax = 1u << 14;  // a step's words for each row fit one message
constexpr double kRegressionRateMin = 1e-4;
constexpr double kRegressionRateMax = 1.0;
constexpr double kRegressionLambdaMax = 0.1;  // weights and gradient fit 62 bits (ring_plan.h)

// invalid_argument names the setting, what it may be and what it is.
Status check_regression_settings(const RegressionSettings& settings);

}  // namespace coterie::vertical
