#include "scheduler/selection/selection_settings.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "scheduler/selection/selection_registry.h"

namespace coterie {

SelectionSettings SelectionSettings::of(std::string_view name) {
  SelectionSettings settings;
  settings.rule = find_selection(name);
  COT_ASSERT(settings.rule != nullptr);
  for (const SelectionSetting& setting : settings.rule->settings) settings.values.push_back(setting.default_value);
  return settings;
}

SelectionSettings SelectionSettings::with(std::string_view setting, float value) const {
  const auto found =
      std::ranges::find_if(rule->settings, [&](const SelectionSetting& own) { return own.name == setting; });
  COT_ASSERT(found != rule->settings.end() && values.size() == rule->settings.size());
  SelectionSettings changed = *this;
  changed.values[static_cast<size_t>(found - rule->settings.begin())] = value;
  return changed;
}

uint64_t SelectionSettings::candidates(uint64_t tickets) const { return rule->candidates(tickets, values); }

std::vector<uint32_t> SelectionSettings::choose(std::span<const TrainedReport* const> reports, size_t tickets,
                                                uint64_t version, Prng& chance) const {
  const size_t count = std::min(tickets, reports.size());
  std::vector<uint32_t> chosen(count);
  std::iota(chosen.begin(), chosen.end(), 0u);
  if (count == 0 || count == reports.size() || rule->choose == nullptr) return chosen;
  chosen = rule->choose({reports, count, version, values}, chance);
  COT_INVARIANT(chosen.size() == count, "a rule gives every ticket that it has devices for");
  return chosen;
}

}  // namespace coterie
