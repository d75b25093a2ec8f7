#include "scheduler/job/selection_rules.h"

#include <string>

#include "base/assert.h"
#include "scheduler/selection/selection_registry.h"

namespace coterie {

void check_selection(const HorizontalSettings& settings, SettingsChecker& check) {
  const SelectionSettings& selection = settings.rounds.selection;
  COT_ASSERT(selection.values.size() == selection.rule->settings.size());
  for (size_t i = 0; i < selection.values.size(); ++i) {
    const SelectionSetting& setting = selection.rule->settings[i];
    check.require(setting.range.admits(selection.values[i]), std::string("/selection/") + setting.name,
                  setting.range.text);
  }
  if (selection.is_uniform()) return;
  const std::string name(selection.rule->name);
  std::string reasons;  // all of them at once: they are of one key
  const auto refuse = [&](bool is_there, std::string_view with, std::string_view reason) {
    if (!is_there) return;
    reasons += (reasons.empty() ? "" : ". ") + (name + " does not go with " + std::string(with)) + ": ";
    reasons += reason;
  };
  const PrivacySettings& privacy = settings.privacy;
  refuse(settings.rounds.is_buffered(), "rounds.policy buffered",
         "such a round asks whoever comes, and has nobody to choose among; take synchronous");
  if (selection.rule->memory == SelectionMemory::training) {
    refuse(
        privacy.level != SecurityLevel::none, "privacy.level " + std::string(to_string(privacy.level)),
        "it draws by each device's loss, which is a value of one device outside of the sum that this level shows the "
        "server alone; take uniform, or level none");
    refuse(
        privacy.has_noise(), "privacy.noise_multiplier",
        "who is drawn would follow from devices' data, which noise in the sums does not hide and the ledger does not "
        "count; take uniform");
    refuse(
        settings.aggregation.keeps_updates(), "aggregation.rule " + std::string(settings.aggregation.name()),
        "a liar that reports a high loss is drawn more often, and the rule counts on no more liars in a round than a "
        "random draw gives; take uniform, or the mean");
  }
  check.require(reasons.empty(), "/selection/kind", reasons);
}

}  // namespace coterie
