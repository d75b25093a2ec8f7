#include "scheduler/rollout/rollout_trial.h"

#include <iterator>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr std::string_view kVerdicts[] = {"open", "harmful", "harmless", "undecided"};

}  // namespace

std::string_view to_string(RolloutVerdict verdict) {
  COT_ASSERT(static_cast<size_t>(verdict) < std::size(kVerdicts));
  return kVerdicts[static_cast<size_t>(verdict)];
}

RolloutVerdict RolloutTrial::observe(double harm) {
  if (verdict_ != RolloutVerdict::open) return verdict_;
  evidence_.hear(harm);
  if (evidence_.says_harmful()) verdict_ = RolloutVerdict::harmful;
  else if (evidence_.says_harmless()) verdict_ = RolloutVerdict::harmless;
  else if (devices() >= settings_.devices_max) verdict_ = RolloutVerdict::undecided;
  return verdict_;
}

}  // namespace coterie
