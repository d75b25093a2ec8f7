// RolloutTrial: whether a new version of a model is worse than the one before it, from devices that compute both on the
// same examples. Paired: a device's difference has nothing of what makes devices differ, and so a much smaller variance
// than two groups of devices would have. Pure.
//
// harm = accuracy of the version before - accuracy of the new one, of one device; clipped to [-harm_max, harm_max]
//
// With harm_max < 1 the mean harm that verdicts are about is that of clipped harms: a version that loses much at few
// devices and wins little at many may be harmless so, and worse without the clip.
//
//   harmful    the evidence against "the mean harm is at most 0" has reached 1 / alpha: roll back. Where the version is
//              as good as the one before, at most alpha of the trials ever say so
//   harmless   the evidence against "the mean harm is at least `margin`" has: release. Where the version is worse
//              by the margin or more, at most alpha of the trials ever say so
//   undecided  devices_max devices have said neither
//   open       more devices are wanted
//
// The first two are ends: a trial that has one keeps it, whatever comes later. Both hold however often one looks
// (betting_capital.h). Preconditions of the statistics: each device speaks once, and who speaks does not depend on what
// it would say.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "scheduler/rollout/rollout_evidence.h"

namespace coterie {

enum class RolloutVerdict : uint8_t { open, harmful, harmless, undecided };
std::string_view to_string(RolloutVerdict verdict);

// One device's answers. `correct_*` are at most `examples`, which is above 0.
struct PairedScore {
  uint32_t examples = 0;
  uint32_t correct_before = 0;
  uint32_t correct_after = 0;
  double harm() const { return (double{1} * correct_before - correct_after) / examples; }
};

class RolloutTrial {
 public:
  // Precondition: validate(settings) is empty.
  explicit RolloutTrial(const RolloutSettings& settings) : settings_(settings), evidence_(settings) {}

  // `harm`: finite. After the end it changes nothing.
  RolloutVerdict observe(double harm);
  RolloutVerdict verdict() const { return verdict_; }
  uint32_t devices() const { return evidence_.so_far().heard; }  // that were heard until the end
  double mean_harm() const { return evidence_.so_far().mean_harm(); }
  double mean_clipped_harm() const { return evidence_.so_far().mean_clipped_harm(); }  // what verdicts are about
  // HeardHarms has what they mean.
  double log_evidence_of_harm() const { return evidence_.so_far().log_harm_max; }
  double log_evidence_of_harmlessness() const { return evidence_.so_far().log_harmless_max; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  RolloutSettings settings_;
  RolloutEvidence evidence_;
  RolloutVerdict verdict_ = RolloutVerdict::open;
  StepCheck step_check_;
};

}  // namespace coterie
