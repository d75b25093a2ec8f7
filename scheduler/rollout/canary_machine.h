// CanaryMachine: one canary, from its start to its end. A new version of a model goes to a share of a population's
// devices; the others keep the version before it. Paired observations say what both versions got right on the same
// examples, and the machine rolls the canary back at the first at which the evidence of harm has reached 1 / alpha.
// Pure: the store keeps what it has heard, and carries its end out in one transaction with the observation that made
// it.
//
//   running --evidence of harm--------------------> rolled_back   of versions that are as good, alpha at most
//   running --promote(), or promote_after heard---> promoted      the new version is everybody's
//   running --end()-------------------------------> ended         the version before is everybody's again
//
// Ends are final: what is heard later changes nothing. Unlike a RolloutTrial, a canary goes on behind "harmless": it
// rolls back later, too.
#pragma once

#include <cstdint>

#include "base/assert.h"
#include "scheduler/rollout/canary_state.h"
#include "scheduler/rollout/rollout_trial.h"

namespace coterie {

inline constexpr uint32_t kCanaryHeardMax = 100'000;
inline constexpr uint32_t kCanaryExamplesMax = 100'000'000;  // of one observation

struct CanarySettings {
  uint32_t percent = 0;        // of the population's devices; in [1, 99]
  RolloutSettings trial = {};  // devices_max, at most kCanaryHeardMax: behind so many observations no more are heard
  uint32_t promote_after = 0;  // observations without an alarm; at most devices_max. 0: a person promotes
  friend bool operator==(const CanarySettings&, const CanarySettings&) = default;
};
Problems validate(const CanarySettings& settings);

// What the two versions got right of the examples of one device, or of one batch of devices, which counts as one.
struct CanaryCounts {
  uint32_t both = 0, only_new = 0, only_old = 0, neither = 0;
  uint64_t examples() const { return uint64_t{both} + only_new + only_old + neither; }
  // Accuracy of the old version - that of the new one. Precondition: examples() is above 0.
  double harm() const { return (double{1} * only_old - only_new) / static_cast<double>(examples()); }
  friend bool operator==(const CanaryCounts&, const CanaryCounts&) = default;
};
// Whether there are 1 to kCanaryExamplesMax examples.
bool is_countable(const CanaryCounts& counts);

class CanaryMachine {
 public:
  // Preconditions: validate(settings) is empty; `state` and `heard` are what an earlier machine of these settings had.
  explicit CanaryMachine(const CanarySettings& settings, CanaryState state = CanaryState::running,
                         const HeardHarms& heard = {});

  // Precondition: is_countable(counts). After the end, and when it is full, it changes nothing; whether it counted.
  bool observe(const CanaryCounts& counts);
  // After an end they change nothing.
  void promote();
  void end();

  CanaryState state() const { return state_; }
  bool is_full() const { return heard().heard >= settings_.trial.devices_max; }
  const HeardHarms& heard() const { return evidence_.so_far(); }
  // What is known so far: harmful where it rolled back, undecided where it is full.
  RolloutVerdict verdict() const;

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  void look();
  void end_as(CanaryState state);

  CanarySettings settings_;
  RolloutEvidence evidence_;
  CanaryState state_;
  StepCheck step_check_;
};

}  // namespace coterie
