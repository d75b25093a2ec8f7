// Scores of a regression: the feature party says for each row what it adds to the margin, and the label party adds its
// own. The label party so learns these sums, one a row (row L10 of docs/VERTICAL.md).
#pragma once

#include <memory>
#include <vector>

#include "vertical/regression/train_regression.h"

namespace coterie::vertical {

enum class ScoreKind : uint8_t { probability, value };  // the sigmoid of the sum, or a linear regression's sum itself

class LabelScoring : public Stage {
 public:
  // `columns` [column][row], of the rows that are scored. invalid_argument for other columns than the model's.
  static Result<std::unique_ptr<LabelScoring>> start(const RegressionColumns& columns, const RegressionModel& model,
                                                     uint32_t rows, ScoreKind kind = ScoreKind::probability);
  // One a row, when done().
  virtual const std::vector<float>& scores() const = 0;
};

Result<std::unique_ptr<Stage>> start_feature_scoring(const RegressionColumns& columns, const RegressionModel& model,
                                                     uint32_t rows);

}  // namespace coterie::vertical
