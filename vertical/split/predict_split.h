// What a trained split network says of people: the feature party says what crosses the cut, in messages of a batch, and
// the label party has their scores. Row i is the same person at both.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "vertical/split/split_model.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

// `columns`: [column][row], `rows` of them. `seed`: of noise and rounding, the party's own, new for each job.
// invalid_argument for columns that do not fit, and what Model::load says of the network.
Result<std::unique_ptr<Stage>> start_feature_split_scoring(const SplitModel& model,
                                                           const std::vector<std::vector<float>>& columns,
                                                           uint32_t rows, Secret<32> seed);

class SplitScoring : public Stage {
 public:
  virtual const std::vector<float>& scores() const = 0;  // when done(): probabilities of label 1
};
Result<std::unique_ptr<SplitScoring>> start_label_split_scoring(const SplitModel& model,
                                                                const std::vector<std::vector<float>>& columns,
                                                                uint32_t rows);

}  // namespace coterie::vertical
