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
  COT_INVARIANT(devices() < settings_.devices_max, "a trial that is open wants one more device");
  evidence_.hear(harm);
  if (evidence_.says_harmful()) verdict_ = RolloutVerdict::harmful;
  else if (evidence_.says_harmless()) verdict_ = RolloutVerdict::harmless;
  else if (devices() >= settings_.devices_max) verdict_ = RolloutVerdict::undecided;
  if (step_check_.is_due(0)) check();
  return verdict_;
}

void RolloutTrial::check() const {
  evidence_.check();
  COT_INVARIANT((verdict_ == RolloutVerdict::harmful) == evidence_.says_harmful(),
                "a trial ends harmful where the evidence of harm says so, and nowhere else");
  COT_INVARIANT((verdict_ == RolloutVerdict::harmless) == (evidence_.says_harmless() && !evidence_.says_harmful()),
                "a trial ends harmless where the other evidence alone says so");
  COT_INVARIANT(devices() <= settings_.devices_max, "no more devices are heard than the trial may ask");
  const bool is_out_of_devices = devices() == settings_.devices_max;
  COT_INVARIANT(verdict_ != RolloutVerdict::open || !is_out_of_devices, "a trial without further devices has ended");
  COT_INVARIANT(verdict_ != RolloutVerdict::undecided || is_out_of_devices,
                "a trial stays undecided once all its devices were heard");
}

}  // namespace coterie
