// RolloutEvidence: what paired observations say so far for "the new version is worse" and for "it is not worse by the
// margin": two capitals that bet against the opposites (betting_capital.h), and the harms they were made of. It decides
// nothing: RolloutTrial and CanaryMachine do. Pure; what it has heard is a plain struct that a store can keep.
#pragma once

#include <cstdint>

#include "base/problem.h"
#include "scheduler/rollout/betting_capital.h"

namespace coterie {

struct RolloutSettings {
  double alpha = 0.05;   // in [1e-6, 0.5]
  double margin = 0.02;  // of accuracy; above 0, below harm_max
  double harm_max = 1;   // in (0, 1]: what one device's difference counts at most. Smaller decides sooner, and is
                         // then about the clipped harm
  uint32_t devices_max = 10'000;  // in [1, 10'000'000]
  friend bool operator==(const RolloutSettings&, const RolloutSettings&) = default;
};
Problems validate(const RolloutSettings& settings);

// What was heard of one rollout.
struct HeardHarms {
  BettingCapital::Logs harm = {}, harmless = {};
  double sum = 0, clipped_sum = 0;
  // The highest evidence so far, as natural logarithms: ln(1 / alpha) decides. exp of its negative is the smallest
  // alpha with which a trial would have ended so by now. Both begin with a capital of 1.
  double log_harm_max = 0, log_harmless_max = 0;
  uint32_t heard = 0;

  double mean_harm() const { return heard == 0 ? 0 : sum / heard; }
  double mean_clipped_harm() const { return heard == 0 ? 0 : clipped_sum / heard; }
  friend bool operator==(const HeardHarms&, const HeardHarms&) = default;
};

class RolloutEvidence {
 public:
  // Precondition: validate(settings) is empty, and `heard` is what one of these settings had.
  explicit RolloutEvidence(const RolloutSettings& settings, const HeardHarms& heard = {});

  // `harm`: finite.
  void hear(double harm);
  const HeardHarms& so_far() const { return heard_; }
  // Whether what was heard has ever reached 1 / alpha.
  bool says_harmful() const { return heard_.log_harm_max >= enough_; }
  bool says_harmless() const { return heard_.log_harmless_max >= enough_; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  double harm_max_, enough_;
  BettingCapital harm_, harmless_;
  HeardHarms heard_;
};

}  // namespace coterie
