#include "aggregation/robust/aggregation_settings.h"

#include <algorithm>

#include "aggregation/robust/registry.h"
#include "base/assert.h"

namespace coterie {
namespace {

constexpr std::string_view kMean = "mean";

}  // namespace

AggregationSettings AggregationSettings::of(std::string_view name) {
  AggregationSettings settings;
  if (name == kMean) return settings;
  settings.rule = find_robust_rule(name);
  COT_ASSERT(settings.rule != nullptr);
  for (const RobustSetting& setting : settings.rule->settings) settings.values.push_back(setting.default_value);
  return settings;
}

AggregationSettings AggregationSettings::with(std::string_view setting, float value) const {
  COT_ASSERT(rule != nullptr && values.size() == rule->settings.size());
  const auto found =
      std::ranges::find_if(rule->settings, [&](const RobustSetting& own) { return own.name == setting; });
  COT_ASSERT(found != rule->settings.end());
  AggregationSettings changed = *this;
  changed.values[static_cast<size_t>(found - rule->settings.begin())] = value;
  return changed;
}

std::string_view AggregationSettings::name() const { return rule == nullptr ? kMean : rule->name; }

uint32_t AggregationSettings::updates_min() const { return rule == nullptr ? 1 : rule->updates_min(values); }

std::vector<std::string_view> aggregation_names() {
  std::vector<std::string_view> names = {kMean};
  for (const RobustRule* rule : robust_rules()) names.emplace_back(rule->name);
  return names;
}

}  // namespace coterie
