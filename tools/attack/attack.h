// Attack: how some devices of a drill lie, so that what a round makes of it can be seen before somebody else does it.
// For devices of one's own alone: simulated ones, and those that the demo starts.
//
//   label_flip   trains on labels that are turned round: y becomes classes - 1 - y
//   sign_flip    sends what it trained, times -5
//   gaussian     sends noise of standard deviation 0.1 a coordinate
//   alie         "a little is enough" (Baruch et al. 2019): the honest mean - 1.5 deviations
//   ipm          inner product manipulation (Xie et al. 2020): -0.5 times the mean of the honest updates
//   replacement  model replacement (Bagdasaryan et al. 2020): label_flip's update, times the updates of the round
//   free_rider   sends no change, and says that it has trained
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

enum class AttackKind : uint8_t { none, label_flip, sign_flip, gaussian, alie, ipm, replacement, free_rider };
std::string_view to_string(AttackKind kind);

struct Attack {
  AttackKind kind = AttackKind::none;
  double share = 0;       // of devices
  bool is_drawn = false;  // anew in each round; else the first lie

  bool is_on() const { return kind != AttackKind::none; }
  uint32_t liars_of(uint32_t devices) const;  // the share, rounded down
  friend bool operator==(const Attack&, const Attack&) = default;
};

// "KIND:SHARE[,drawn]", such as sign_flip:0.2. The share is in (0, 0.5].
Result<Attack> parse_attack(std::string_view text);
std::string to_string(const Attack& attack);
// The same where devices are processes: refuses drawn liars, and kinds that need others.
Result<Attack> parse_device_attack(std::string_view text);

// What one liar is told: how to lie, and how many updates a round has.
struct Lie {
  AttackKind kind = AttackKind::none;
  uint64_t updates = 1;
};
// "KIND:UPDATES", such as replacement:10. Kinds that need others are refused: one device alone cannot do it.
Result<Lie> parse_lie(std::string_view text);
std::string to_string(const Lie& lie);

// Whether a liar trains on labels that are turned round.
bool flips_labels(AttackKind kind);
// Whether a liar must know what the honest devices of the round send.
bool needs_others(AttackKind kind);

// What the honest updates of a round have in common, by coordinate.
struct HonestMoments {
  std::vector<float> mean, deviation;
};
// Precondition: at least one, all of one length.
HonestMoments moments_of(std::span<const std::span<const float>> honest);

// Turns what a liar has trained into what it sends. `honest` is there for kinds that need others, `updates` how many
// the round has, `seed` the liar's of this round.
void forge(AttackKind kind, const HonestMoments& honest, uint64_t updates, uint64_t seed, std::span<float> delta);

}  // namespace coterie
