// AnalyticsRules: what a device counts of its examples, where a job asks for a table of counts and not for a training.
// What they mean to the lane: analytics_lanes.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/messages/evaluation.h"
#include "proto/messages/heavy_hitters.h"

namespace coterie {

// With `evaluation` a device counts what models say of its examples: evaluation_lanes.h. With `heavy_hitters` its value
// is a string: hitter_lanes.h. With `activation_ranges` it counts the values within a model: range_lanes.h.
enum class AnalyticsKind : uint8_t { histogram = 1, distinct, evaluation, heavy_hitters, activation_ranges };
// Where a device finds the value of an example.
//   feature   a number of its only input; with categories so many from there on, of which one is not 0; of a string
//             its bytes
//   label     its class
//   target    its target, a number
// With `evaluation` it is the example's group, if there are categories.
enum class AnalyticsSource : uint8_t { feature = 1, label, target };

struct AnalyticsRules {
  AnalyticsKind kind = AnalyticsKind::histogram;
  AnalyticsSource source = AnalyticsSource::feature;
  uint32_t input_values = 1;                     // numbers of an example's only input
  uint32_t feature = 0;                          // which of them; the first of a category's
  std::optional<uint32_t> missing_feature = {};  // which of them says that the number is missing; none: NaN alone
  std::vector<float> edges = {};                 // ascending, in the unit that examples have
  uint32_t categories = 0;                       // 0: the value is a number
  uint32_t buckets = 0;                          // of distinct
  uint32_t values_max = 1;
  uint32_t lane_max = 1;
  std::optional<EvaluationRules> evaluation = {};
  std::optional<HitterRules> hitters = {};
  // Numbers of the input that one value takes, from `feature` on.
  uint32_t feature_width() const { return hitters ? hitters->length_max : categories > 0 ? categories : 1; }
  // Devices run models, which they fetch in the table's place.
  bool runs_models() const { return evaluation.has_value(); }
  bool is_of_numbers() const { return categories == 0; }
  friend bool operator==(const AnalyticsRules&, const AnalyticsRules&) = default;
};

}  // namespace coterie
