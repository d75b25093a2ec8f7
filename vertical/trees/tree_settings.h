// What all parties of a training of trees must agree on; it is a part of the job's manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"

namespace coterie::vertical {

enum class TreeObjective : uint8_t {
  binary_logistic = 0,  // labels 0 and 1
  multi_softprob = 1,   // labels 0 ... classes - 1; each round has a tree a class
  squared_error = 2,    // any finite label below kLabelMax
};

// Gradient-based one-side sampling (G. Ke et al., LightGBM, NeurIPS 2017, algorithm 2) with LightGBM's names: a round
// looks at the rows with the largest gradients, this share of all, and at a share that is drawn among the others.
struct Goss {
  double top_rate = 0.2;
  double other_rate = 0.1;
  friend bool operator==(const Goss&, const Goss&) = default;
};

// As XGBoost's parameters of the same names (https://xgboost.readthedocs.io/en/release_1.7.0/parameter.html).
struct TreeSettings {
  TreeObjective objective = TreeObjective::binary_logistic;
  uint32_t classes = 1;  // 1 but with multi_softprob
  uint32_t rounds = 20;
  uint32_t depth = 3;
  float eta = 0.3f;
  double lambda = 1.0;
  double min_child_weight = 1.0;
  // The first round's trees use the label party's columns alone: a first tree's partitions say most about labels.
  bool label_party_first = false;
  std::optional<Goss> goss;  // none: each round looks at all rows

  uint32_t trees() const { return rounds * classes; }
  friend bool operator==(const TreeSettings&, const TreeSettings&) = default;
};

constexpr uint32_t kTreeDepthMax = 8;
constexpr uint32_t kTreesMax = 10'000;
constexpr uint32_t kTreeClassesMax = 1'000;
constexpr uint32_t kTreeRowsMax = 1u << 22;        // a level's bitmaps fit one message
constexpr uint32_t kTreeCandidatesMax = 1u << 17;  // the ids of all candidates fit one message
constexpr double kGossOtherRateMin = 0.001;        // what a row stands for is bounded
constexpr float kLabelMax = 1e6f;                  // a gradient fits 64 bits at scale 2^40

// How many rows a round looks at: all parties know it.
struct SampleSize {
  uint32_t top = 0;    // rows with the largest gradients
  uint32_t other = 0;  // drawn among the others: one at least
  uint32_t rows() const { return top + other; }
};
SampleSize sample_size(const Goss& goss, uint32_t rows);

// invalid_argument names the setting, what it may be and what it is.
Status check_tree_settings(const TreeSettings& settings);

}  // namespace coterie::vertical
