// Linear (ridge) regression over columns that two organisations hold, in closed form: one product of their tables on
// additive shares with the coordinator as dealer, then the label party solves.
//
//   both:   run start_shape() with the peer, with ridge_rounds(); its shape() is what the dealer is asked with
//   both:   run LabelRidge / FeatureRidge with the peer and the dealer (product_dealing.h); then model()
//
// Minimises mean (label - score)^2 / 2 + lambda / 2 |w|^2 over columns of mean 0 and deviation 1, w without the
// intercept and in deviations of the label. Its weights are those of the pooled regression but for the rounding of
// doubles: shares have 44 places.
//
// The label party learns the second moments of the feature party's columns, with each other and with its own columns
// and the label, and so all weights; the feature party its own weights (row L11 of docs/VERTICAL.md). With few rows
// second moments tell rows: there must be kRidgeRowsPerColumn times as many rows as columns.
#pragma once

#include <memory>

#include "vertical/regression/train_regression.h"

namespace coterie::vertical {

struct RidgeSettings {
  double lambda = 0.01;
  friend bool operator==(const RidgeSettings&, const RidgeSettings&) = default;
};
constexpr double kRidgeLambdaMax = 1000;
constexpr uint32_t kRidgeRowsPerColumn = 10;

// invalid_argument.
Status check_ridge_settings(const RidgeSettings& settings);
// What start_shape() and the dealer are told of steps, of which a ridge regression has none.
RegressionSettings ridge_rounds();

class RidgeTraining : public OrderedStage {
 public:
  // When done(). `refused` with the reason "columns_dependent".
  virtual Result<RegressionModel> model() const = 0;
};

// invalid_argument for what does not fit the shape; `refused` with the reason "rows_few". Labels are finite.
Result<std::unique_ptr<RidgeTraining>> start_label_ridge(const RegressionShape& shape, const RidgeSettings& settings,
                                                         const RegressionColumns& columns,
                                                         const std::vector<float>& labels);
Result<std::unique_ptr<RidgeTraining>> start_feature_ridge(const RegressionShape& shape,
                                                           const RegressionColumns& columns);

// The same on one table: what the two parties' result is compared with.
Result<RegressionModel> pooled_ridge(const RegressionColumns& columns, const std::vector<float>& labels,
                                     const RidgeSettings& settings);

}  // namespace coterie::vertical
