#include "scheduler/job/adaptive_mu_rules.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/assert.h"
#include "secure/dp/account/number_words.h"

namespace coterie {

void check_adaptive_mu(const HorizontalSettings& settings, SettingsChecker& check) {
  if (!settings.adaptive_mu) return;
  const AdaptiveMuSettings& own = *settings.adaptive_mu;
  const std::string here = "/training/adaptive_mu";
  check.require(own.step >= kMuStepMin && own.step <= kMuMax, here + "/step", "must be in [1e-6, 1e6]");
  check.in_range<uint32_t>(own.falls, 1, kMuFallsMax, here + "/falls");
  const bool has_bound = own.max > 0 && own.max <= kMuMax;
  check.require(has_bound, here + "/max", "must be above 0 and at most 1e6");
  check.require(!has_bound || settings.training.proximal_mu <= own.max, "/training/proximal_mu",
                "must be at most adaptive_mu.max, " + number_words(static_cast<double>(own.max)) +
                    ": it is what the first round begins with");
  check.require(settings.evaluation.has_value(), here,
                "needs the job's evaluation data: mu follows the loss on them, which no device can lie about");
  // What a fixed mu is refused with, an adaptive one is, which may begin with 0.
  const CorrectionKind kind = settings.strategy.rule->correction;
  const bool refuses = kind == CorrectionKind::feddyn || kind == CorrectionKind::scaffold;
  check.require(
      !refuses, here,
      std::string("must be absent with ") + settings.strategy.rule->name +
          (kind == CorrectionKind::feddyn ? ": its alpha pulls towards the given model already"
                                          : ": its control would hold a pull that is another one in each round"));
}

float proximal_mu_of(const HorizontalSettings& settings, const std::optional<double>& row) {
  if (!settings.adaptive_mu || !row) return settings.training.proximal_mu;
  return std::clamp(static_cast<float>(*row), 0.0f, settings.adaptive_mu->max);
}

AdaptiveMu next_adaptive_mu(const HorizontalSettings& settings, const std::optional<AdaptiveMu>& before,
                            const std::optional<double>& loss_before, const std::optional<double>& loss) {
  COT_ASSERT(settings.adaptive_mu.has_value());
  const AdaptiveMuSettings& own = *settings.adaptive_mu;
  const auto step = static_cast<double>(own.step);
  AdaptiveMu next = before.value_or(AdaptiveMu{.mu = static_cast<double>(settings.training.proximal_mu)});
  if (!loss || !loss_before || *loss == *loss_before) {
    next.falls = 0;
    return next;
  }
  if (*loss > *loss_before) return {.mu = std::min(next.mu + step, static_cast<double>(own.max))};
  if (++next.falls < own.falls) return next;
  return {.mu = std::max(next.mu - step, 0.0)};
}

}  // namespace coterie
