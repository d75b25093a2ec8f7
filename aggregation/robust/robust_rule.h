// RobustRule: one way to make one update of a round's single updates, some of which may be lies. A rule is one row: its
// job settings, how many updates it needs, and its arithmetic. Job JSON, validation, the command line and the documents
// follow from the rows (registry.h); nobody else knows a rule by name.
//
// A rule works in two steps. `choose` looks at how far the updates are from each other, once, and gives each of them a
// share; `apply` makes a piece of the result, coordinate by coordinate. A rule that has no `choose` looks at
// coordinates alone, one that has no `apply` is the sum of the updates, each times its share.
//
// Both are pure. Updates come in the order of their devices' ids, so that the bits depend neither on the order of
// arrival nor on where the vector is cut into tiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "aggregation/robust/update_distances.h"

namespace coterie {

// The values that a setting of a rule may have, and the sentence that says so.
struct RobustRange {
  bool (*admits)(float value);
  const char* text;
};

struct RobustSetting {
  const char* name;     // its key in a job's `aggregation`
  float default_value;  // where a job does not name it
  RobustRange range;
  const char* sentence;  // for the documents
};

// The same coordinates of every update, and where their result goes. All values are finite; rows and result have one
// length.
struct RobustTile {
  std::span<const std::span<const float>> rows;  // one an update
  std::span<const double> shares;                // what choose() has given; empty: the rule has none
  std::span<const float> settings;               // in the order of RobustRule::settings
  std::span<float> result;
};

struct RobustRule {
  const char* name;      // `aggregation.rule` of a job
  const char* sentence;  // what it does, for the documents
  const char* source;    // of its formula
  std::span<const RobustSetting> settings;
  // Whether the weights of updates count, in choose(). Where they do not every update counts once.
  bool weighs = false;
  // Whether what devices of different data send looks like a lie to it: under label skew it loses accuracy without any
  // liar (docs/operating/robust.md has the figures).
  bool loses_under_skew = false;
  // Updates without which it means nothing, given its settings; and that as a formula.
  uint32_t (*updates_min)(std::span<const float> settings);
  const char* updates_min_text;
  // Sets one share an update; all of them come as 0. Preconditions: at least updates_min; as many weights, all above 0;
  // the distances are complete.
  void (*choose)(const UpdateDistances& distances, std::span<const double> weights, std::span<const float> settings,
                 std::span<double> shares) = nullptr;
  void (*apply)(const RobustTile& tile) = nullptr;

  bool needs_distances() const { return choose != nullptr; }
};

// What the rule makes of a tile: apply(), or the sum of the rows by their shares.
void make_result(const RobustRule& rule, const RobustTile& tile);

// Shared by rows.
inline constexpr uint32_t kLiarsMax = 256;
inline constexpr RobustRange kLiars{[](float value) {
                                      return value >= 1 && value <= kLiarsMax &&
                                             value == static_cast<float>(static_cast<int>(value));
                                    },
                                    "must be a whole number in [1, 256]"};
inline constexpr RobustRange kIterations{
    [](float value) { return value >= 1 && value <= 1000 && value == static_cast<float>(static_cast<int>(value)); },
    "must be a whole number in [1, 1000]"};

}  // namespace coterie
