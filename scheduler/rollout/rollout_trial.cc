#include "scheduler/rollout/rollout_trial.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr std::string_view kVerdicts[] = {"open", "harmful", "harmless", "undecided"};

}  // namespace

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

std::string_view to_string(RolloutVerdict verdict) {
  COT_ASSERT(static_cast<size_t>(verdict) < std::size(kVerdicts));
  return kVerdicts[static_cast<size_t>(verdict)];
}

// Harms are moved to [0, 1]: no harm is 1/2. The second gambler bets on values of the other side.
RolloutTrial::RolloutTrial(const RolloutSettings& settings)
    : settings_(settings), harm_(0.5), harmless_(0.5 - settings.margin / settings.harm_max / 2) {
  COT_ASSERT(validate(settings).empty());
}

RolloutVerdict RolloutTrial::observe(double harm) {
  if (verdict_ != RolloutVerdict::open) return verdict_;
  COT_ASSERT(std::isfinite(harm));
  const double clipped = std::clamp(harm, -settings_.harm_max, settings_.harm_max);
  ++devices_;
  sum_ += harm;
  clipped_sum_ += clipped;
  const double value = std::clamp(0.5 + clipped / settings_.harm_max / 2, 0.0, 1.0);
  harm_.bet(value);
  harmless_.bet(1 - value);
  const double enough = -std::log(settings_.alpha);
  log_harm_max_ = std::max(log_harm_max_, harm_.log());
  log_harmless_max_ = std::max(log_harmless_max_, harmless_.log());
  if (log_harm_max_ >= enough) verdict_ = RolloutVerdict::harmful;
  else if (log_harmless_max_ >= enough) verdict_ = RolloutVerdict::harmless;
  else if (devices_ >= settings_.devices_max) verdict_ = RolloutVerdict::undecided;
  return verdict_;
}

}  // namespace coterie
