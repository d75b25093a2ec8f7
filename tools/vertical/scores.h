// How well scores tell people with label 1 from those with label 0.
#pragma once

#include <span>

namespace coterie {

struct ScoreQuality {
  double auc = 0;       // probability that a 1 scores above a 0, ties by half; NaN without both
  double log_loss = 0;  // mean; NaN without scores
};

// Both have one entry a person; labels are 0 or 1.
ScoreQuality judge_scores(std::span<const float> scores, std::span<const float> labels);

}  // namespace coterie
