// Logistic regression over columns that two organisations hold, on additive shares with the coordinator as dealer: the
// entry for whoever runs a job.
//
//   both:   run start_shape(rows, columns, party, settings) with the peer; its shape() is what the dealer is asked with
//   both:   run LabelRegression / FeatureRegression with the peer and the dealer (Link::run_with); then model()
//
// Row i is the same person at both parties. Each learns the weights of its own columns and nothing else of the other
// but the shape; the label party, for each step, how many rows are near the edge of the sigmoid (row L6 of
// docs/VERTICAL.md). The dealer (dealing.h) learns the shape. It must not work together with a party.
//
// Not thread-safe: one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "vertical/regression/regression_checkpoint.h"
#include "vertical/regression/regression_model.h"
#include "vertical/regression/regression_settings.h"
#include "vertical/regression/ring_plan.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

// [column][row]; NaN where there is no value.
using RegressionColumns = std::vector<std::vector<float>>;

// The parties tell each other how many rows and columns they have; each must have at least one column.
class ShapeAgreement : public Stage {
 public:
  virtual const RegressionShape& shape() const = 0;  // when done()
};
Result<std::unique_ptr<ShapeAgreement>> start_shape(uint32_t rows, const RegressionColumns& columns, PartyIndex party,
                                                    const RegressionSettings& settings);

class RegressionTraining : public OrderedStage {
 public:
  // When done(). `refused` with the reason "margins_out_of_range": the training has left the range of its sigmoid; a
  // lower rate or a higher lambda keeps it there.
  virtual Result<RegressionModel> model() const = 0;
  virtual uint32_t steps_done() const = 0;
  // A checkpoint that was reached since the last call. It must be durable before next() is called again: then parties
  // whose processes die are never more than one checkpoint apart, and two of each are enough.
  virtual std::optional<RegressionCheckpoint> take_checkpoint() = 0;
};

// `labels` are 0 or 1, one a row. Both go on from their checkpoints of the same step, with the same columns, labels and
// dealt seeds as before, or begin. invalid_argument for what does not fit the shape.
Result<std::unique_ptr<RegressionTraining>> start_label_regression(const RegressionShape& shape,
                                                                   const RegressionSettings& settings,
                                                                   const RegressionColumns& columns,
                                                                   std::vector<float> labels,
                                                                   const RegressionCheckpoint& from = {});
Result<std::unique_ptr<RegressionTraining>> start_feature_regression(const RegressionShape& shape,
                                                                     const RegressionSettings& settings,
                                                                     const RegressionColumns& columns,
                                                                     const RegressionCheckpoint& from = {});

}  // namespace coterie::vertical
