// The most frequent strings of a population, from counts of a prefix tree (proto/messages/hitter_lanes.h): what a round
// has found, which prefixes the next one follows, and what all rounds together say. Pure.
//
// Without noise a count is exact, of the devices that its round has counted: no string is told that they do not have,
// and each that `threshold` of them have is told, but where more prefixes than prefixes_max have come so far.
//
// With noise a lane that nobody counts in reaches the threshold by chance. The threshold is raised so far that this
// happens in one job of twenty at most, in any lane of any round: m lanes with normal noise of deviation s reach t with
// a probability of at most m / 2 exp(-t^2 / (2 s^2)), which is 1/20 for t = s sqrt(2 ln(10 m)).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scheduler/job/horizontal_settings.h"

namespace coterie {

struct CountedString {
  std::string text;  // bytes
  double count = 0;
  bool may_go_on = false;  // it has length_max bytes: a longer string is cut to that
  friend bool operator==(const CountedString&, const CountedString&) = default;
};

// The job's own threshold, or the one that noise asks for: of as many updates as a round has tickets. Precondition:
// validate(settings) is empty, and there are analytics.
double hitter_threshold(const HorizontalSettings& settings);

struct FollowedLevel {
  std::vector<CountedString> strings;   // that end on this level, in the lanes' order
  std::vector<CountedString> prefixes;  // of the next one, likewise
  HitterRules next;                     // what the next round follows; no prefixes: there is nothing to be found
  double left_out = 0;                  // the largest count of a prefix that prefixes_max has no room for
};
// `counts` has hitter_lane_count(rules) values. Where prefixes have the same count those go on that are first in order.
FollowedLevel followed(const HitterRules& rules, std::span<const float> counts, double threshold);

struct HeavyHitters {
  std::vector<CountedString> strings;   // most frequent first
  std::vector<CountedString> prefixes;  // that the next round would follow, likewise: strings begin so, unknown how
  double threshold = 0;
  double left_out = 0;  // the largest of all levels: with less a string may be missing; 0: none is
};
HeavyHitters heavy_hitters_of(const HorizontalSettings& settings, std::span<const std::vector<float>> counts);

}  // namespace coterie
