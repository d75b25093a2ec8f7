#include "scheduler/rollout/rollout_evidence.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace coterie {

Problems validate(const RolloutSettings& settings) {
  Problems problems;
  const auto require = [&](bool condition, const char* pointer, const char* detail) {
    if (!condition) problems.push_back({pointer, detail});
  };
  require(settings.alpha >= 1e-6 && settings.alpha <= 0.5, "/alpha", "must be in [1e-6, 0.5]");
  require(settings.harm_max > 0 && settings.harm_max <= 1, "/harm_max", "must be in (0, 1]");
  require(settings.margin > 0 && settings.margin < settings.harm_max, "/margin", "must be above 0 and below harm_max");
  require(settings.devices_max >= 1 && settings.devices_max <= 10'000'000, "/devices_max", "must be in [1, 10000000]");
  return problems;
}

// Harms are moved to [0, 1]: no harm is 1/2. The second gambler bets on values of the other side.
RolloutEvidence::RolloutEvidence(const RolloutSettings& settings, const HeardHarms& heard)
    : harm_max_(settings.harm_max),
      enough_(-std::log(settings.alpha)),
      harm_(0.5, heard.harm),
      harmless_(0.5 - settings.margin / settings.harm_max / 2, heard.harmless),
      heard_(heard) {
  COT_ASSERT(validate(settings).empty());
}

void RolloutEvidence::hear(double harm) {
  COT_ASSERT(std::isfinite(harm));
  const double clipped = std::clamp(harm, -harm_max_, harm_max_);
  ++heard_.heard;
  heard_.sum += harm;
  heard_.clipped_sum += clipped;
  const double value = std::clamp(0.5 + clipped / harm_max_ / 2, 0.0, 1.0);
  harm_.bet(value);
  harmless_.bet(1 - value);
  heard_.harm = harm_.logs();
  heard_.harmless = harmless_.logs();
  heard_.log_harm_max = std::max(heard_.log_harm_max, harm_.log());
  heard_.log_harmless_max = std::max(heard_.log_harmless_max, harmless_.log());
}

void RolloutEvidence::check() const {
  COT_INVARIANT(heard_.harm == harm_.logs() && heard_.harmless == harmless_.logs(),
                "what is kept of the gamblers is what they have");
  COT_INVARIANT(std::isfinite(harm_.log()) && std::isfinite(harmless_.log()), "no value takes all that gamblers have");
  COT_INVARIANT(
      heard_.log_harm_max >= std::max(0.0, harm_.log()) && heard_.log_harmless_max >= std::max(0.0, harmless_.log()),
      "the highest evidence is no lower than the present one, and began with a capital of 1");
  COT_INVARIANT(std::abs(heard_.mean_clipped_harm()) <= harm_max_ * (1 + 1e-9), "a clipped harm lies within the clip");
  const bool is_moved = heard_.sum != 0 || heard_.clipped_sum != 0 || says_harmful() || says_harmless();
  COT_INVARIANT(heard_.heard > 0 || !is_moved, "nothing is said before somebody was heard");
}

}  // namespace coterie
