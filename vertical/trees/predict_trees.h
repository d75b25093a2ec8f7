// Prediction from a model's parts in one round, as stages. Each feature party says for each row which leaves its own
// splits leave open, a bit a leaf; the label party looks at its own splits, and one leaf a tree remains.
//
// The label party learns these bits (row L4 of docs/vertical/trees.md); a feature party which rows are scored.
#pragma once

#include <memory>
#include <vector>

#include "vertical/stage/stage.h"
#include "vertical/trees/tree_model.h"

namespace coterie::vertical {

using RawColumns = std::vector<std::vector<float>>;  // [column][row], NaN where missing; rows in the matched order

class LabelPrediction : public OrderedStage {
 public:
  // invalid_argument names what does not fit the model.
  static Result<std::unique_ptr<LabelPrediction>> start(RawColumns columns, LabelTreeModel model, uint32_t rows,
                                                        std::vector<PartyIndex> peers);
  // When done(), row by row: the probability of class 1 (binary), of each class (multi), or the value.
  virtual const std::vector<float>& scores() const = 0;
};

class FeaturePrediction : public Stage {
 public:
  static Result<std::unique_ptr<FeaturePrediction>> start(RawColumns columns, FeatureTreeModel model, uint32_t rows);
};

}  // namespace coterie::vertical
