#include "aggregation/strategy/strategy_settings.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr std::array<std::string_view, 2> kStatistics = {"averaged", "pooled"};
constexpr std::array<std::string_view, 4> kAggregationRules = {"mean", "median", "trimmed_mean", "krum"};

}  // namespace

std::span<const std::string_view> aggregation_rule_names() { return kAggregationRules; }

std::string_view to_string(AggregationRule rule) {
  const auto index = static_cast<size_t>(rule);
  return index < kAggregationRules.size() ? kAggregationRules[index] : "unknown";
}

std::span<const std::string_view> statistics_names() { return kStatistics; }

std::string_view to_string(Statistics statistics) {
  const auto index = static_cast<size_t>(statistics);
  return index < kStatistics.size() ? kStatistics[index] : "unknown";
}

StrategySettings StrategySettings::of(std::string_view name) {
  StrategySettings settings;
  settings.rule = find_strategy(name);
  COT_ASSERT(settings.rule != nullptr);
  settings.values = defaults_of(*settings.rule);
  return settings;
}

std::vector<float> StrategySettings::defaults_of(const StrategyRule& rule) {
  std::vector<float> values;
  for (const StrategySetting& setting : rule.settings) values.push_back(setting.default_value);
  return values;
}

StrategySettings StrategySettings::with(std::string_view setting, float value) const {
  StrategySettings changed = *this;
  changed.value_of(setting) = value;
  return changed;
}

float& StrategySettings::value_of(std::string_view setting) {
  const auto found =
      std::ranges::find_if(rule->settings, [&](const StrategySetting& own) { return own.name == setting; });
  COT_ASSERT(found != rule->settings.end() && values.size() == rule->settings.size());
  return values[static_cast<size_t>(found - rule->settings.begin())];
}

}  // namespace coterie
