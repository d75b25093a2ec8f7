// EvaluationRules: what a device says of models that it runs on its own examples. What it means to the lane:
// evaluation_lanes.h; with `ranges`, of kind activation_ranges, range_lanes.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "proto/messages/activation_ranges.h"
#include "proto/messages/importance.h"

namespace coterie {

struct EvaluatedModel {
  Digest digest;
  uint64_t bytes = 0;  // of its file; a job that is not created yet does not know it
  friend bool operator==(const EvaluatedModel&, const EvaluatedModel&) = default;
};

struct EvaluationRules {
  // One, or two that are compared: the one before, and the new one. Each says a number a class: logits, or
  // log-probabilities.
  std::vector<EvaluatedModel> models = {};
  uint32_t classes = 2;
  uint32_t score_bins = 64;  // of a class's probability; 0: no scores are counted
  float harm_max = 1;        // of two models: what a device's difference of accuracies counts at most
  std::optional<ImportanceRules> importance = {};  // of one model: by how much it is worse without a column
  std::optional<RangeRules> ranges = {};           // of one model, in the place of all else: where its values lie
  bool compares() const { return models.size() == 2; }
  friend bool operator==(const EvaluationRules&, const EvaluationRules&) = default;
};

}  // namespace coterie
