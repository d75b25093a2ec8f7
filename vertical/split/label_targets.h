// What a label party trains on: its labels, or randomised responses to them with a loss whose mean is theirs.
//
// Randomised response (Warner 1965): each label is turned with probability q = 1 / (1 + e^epsilon), once a row for the
// whole job, so that all that follows is epsilon-DP of each label. With the target (y~ - q) / (1 - 2 q) in place of y
// the loss and its gradient p - y have the mean that the true label gives (Natarajan et al. 2013, Lemma 1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "secure/crypto/secret.h"

namespace coterie::vertical {

struct LabelTargets {
  std::vector<uint8_t> labels;  // as they are trained on: 0 or 1
  std::vector<float> targets;   // of the loss; outside of [0, 1] where labels were turned at random
};

// `labels`: 0 or 1. epsilon 0: as they are.
LabelTargets label_targets(std::span<const float> labels, double epsilon, const Secret<32>& seed);

}  // namespace coterie::vertical
