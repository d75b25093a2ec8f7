// AggregationSettings: what a job says about how a round's updates become one: their mean, or what a robust rule makes
// of single ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace coterie {

struct RobustRule;

struct AggregationSettings {
  const RobustRule* rule = nullptr;  // null: the mean
  std::vector<float> values = {};    // one for each of the rule's settings, in their order

  // A rule with its defaults. Precondition: it is "mean", or there is one of this name.
  static AggregationSettings of(std::string_view name);
  // The same with one setting changed. Precondition: the rule has it.
  AggregationSettings with(std::string_view setting, float value) const;

  // Single updates, or behind masks sums of cohorts, are kept until the round is finalized.
  bool keeps_updates() const { return rule != nullptr; }
  std::string_view name() const;
  // 1 for the mean.
  uint32_t updates_min() const;

  friend bool operator==(const AggregationSettings&, const AggregationSettings&) = default;
};

// "mean", then the rules in their order.
std::vector<std::string_view> aggregation_names();

}  // namespace coterie
