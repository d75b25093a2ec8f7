#include "scheduler/job/job_settings.h"

#include "base/assert.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {
namespace {

constexpr uint32_t kJobWeightMax = 1'000;

void check_common(const CommonSettings& common, SettingsChecker& check) {
  check.require(!common.name.empty() && common.name.size() <= 128, "/name", "must have 1 to 128 characters");
  const std::string& population = common.population.value();
  check.require(!population.empty() && population.size() <= 64, "/population", "must have 1 to 64 characters");
  check.in_range<uint32_t>(common.weight, 1, kJobWeightMax, "/weight");
}

}  // namespace

const HorizontalSettings& JobSettings::horizontal() const {
  const auto* settings = std::get_if<HorizontalSettings>(&kind);
  COT_INVARIANT(settings != nullptr, "who asks for horizontal settings has a horizontal job");
  return *settings;
}

HorizontalSettings& JobSettings::horizontal() {
  auto* settings = std::get_if<HorizontalSettings>(&kind);
  COT_INVARIANT(settings != nullptr, "who asks for horizontal settings has a horizontal job");
  return *settings;
}

Problems validate(const JobSettings& settings) {
  Problems problems;
  SettingsChecker check(problems);
  check_common(settings.common, check);
  const Problems of_kind = std::visit([](const auto& kind) { return validate(kind); }, settings.kind);
  problems.insert(problems.end(), of_kind.begin(), of_kind.end());
  return problems;
}

bool has_noise(const JobSettings& settings) {
  return std::visit([](const HorizontalSettings& horizontal) { return horizontal.privacy.has_noise(); }, settings.kind);
}

bool needs_examples_median(const JobSettings& settings) {
  const auto needs = [](const HorizontalSettings& horizontal) {
    return horizontal.privacy.level == SecurityLevel::none && horizontal.update.weight_share_max < 1;
  };
  return std::visit(needs, settings.kind);
}

}  // namespace coterie
