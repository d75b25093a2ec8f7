// StrategySettings: what a job says about how its rounds move the model.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "aggregation/strategy/registry.h"

namespace coterie {

// What a round makes of its updates.
enum class AggregationRule : uint8_t {
  mean,
  median,
  trimmed_mean,
  krum,  // look at single updates; named to be refused, saying why
};
std::string_view to_string(AggregationRule rule);
// In the order of the enumerators.
std::span<const std::string_view> aggregation_rule_names();

// What becomes of running statistics, which no strategy moves (proto/messages/running_statistics.h).
enum class Statistics : uint8_t {
  averaged,  // the mean of the devices' statistics; what spreads between devices is lost. Jobs of before pooling
  pooled,    // those of all examples together
};
std::string_view to_string(Statistics statistics);
// In the order of the enumerators.
std::span<const std::string_view> statistics_names();

struct StrategySettings {
  const StrategyRule* rule = &default_strategy();  // never null
  AggregationRule aggregation_rule = AggregationRule::mean;
  Statistics statistics = Statistics::averaged;
  std::vector<float> values = defaults_of(*rule);  // one for each of rule->settings, in their order

  // A strategy with its defaults. Precondition: there is one of this name.
  static StrategySettings of(std::string_view name);
  static std::vector<float> defaults_of(const StrategyRule& rule);
  // The same with one setting changed. Precondition: the rule has it.
  StrategySettings with(std::string_view setting, float value) const;
  // Precondition: the rule has this setting.
  float& value_of(std::string_view setting);

  friend bool operator==(const StrategySettings&, const StrategySettings&) = default;
};

}  // namespace coterie
