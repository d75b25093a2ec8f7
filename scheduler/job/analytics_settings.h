// AnalyticsSettings: what an operator says about a job that counts and trains nothing.
#pragma once

#include <string>
#include <vector>

#include "proto/messages/analytics.h"

namespace coterie {

// Examples of a device that an evaluation looks at, unless said: their number is the larger part of its error.
inline constexpr uint32_t kEvaluatedValues = 256;
// Likewise, of one that counts a model's activations: each has many of them.
inline constexpr uint32_t kRangedValues = 64;

struct AnalyticsSettings {
  // As devices get them, but for the edges, which are in the unit of the column here.
  AnalyticsRules rules;
  std::string column;                        // what people call it; may be empty
  std::vector<double> edges = {};            // in the column's own unit
  double mean = 0, deviation = 1;            // a device's number is (value - mean) / deviation
  std::vector<std::string> categories = {};  // their names, in the order of the lanes
  std::vector<std::string> classes = {};     // of kind evaluation: their names, in the models' order
  std::vector<std::string> permuted = {};    // of an evaluation with importance: names of its columns, in their order
  std::vector<double> quantiles = {};        // to be told of a histogram of numbers, each in (0, 1)
  bool refines = false;    // each round after the first has its edges where the quantiles are (quantile_refinement.h)
  uint32_t threshold = 0;  // of kind heavy_hitters: what has a lower count is neither followed nor told
  // Each round asks what those before it leave open, and has a block of the table of its own (round_question.h).
  bool asks_anew() const { return refines || rules.hitters.has_value(); }
  friend bool operator==(const AnalyticsSettings&, const AnalyticsSettings&) = default;
};

}  // namespace coterie
