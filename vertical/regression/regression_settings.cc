#include "vertical/regression/regression_settings.h"

#include <string>

namespace coterie::vertical {
namespace {

Status must_be_within(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return Error(ErrorCode::invalid_argument, std::string("regression: ") + name + " is " + std::to_string(value) +
                                                ", expected " + std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

Status check_regression_settings(const RegressionSettings& settings) {
  COT_TRY(must_be_within("epochs", settings.epochs, 1, kRegressionEpochsMax));
  COT_TRY(must_be_within("batch", settings.batch, kRegressionBatchMin, kRegressionBatchMax));
  COT_TRY(must_be_within("rate", settings.rate, kRegressionRateMin, kRegressionRateMax));
  return must_be_within("lambda", settings.lambda, 0, kRegressionLambdaMax);
}

}  // namespace coterie::vertical
