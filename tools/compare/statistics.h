// What some runs or examples say together: a mean or a share, and how sure it is. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace coterie {

// The mean of `count` values, and half the width of its 95 % confidence interval by Student's t: with probability .95
// the interval covers the mean of all runs there could be, if their values are nearly normal. None for a single value.
struct MeanInterval {
  double mean = 0;
  std::optional<double> half_width;
  size_t count = 0;
};

// `values` has at least one, and all are finite.
MeanInterval mean_interval(std::span<const double> values);

// The mean of b - a over the seeds that both have: what differs between runs of one seed is what was changed, and not
// the luck of the draw. None without such a seed.
std::optional<MeanInterval> paired_difference(const std::map<uint64_t, double>& a, const std::map<uint64_t, double>& b);

// A share of which `count` of `of` were seen, and its 95 % interval by Wilson's score (1927): the shares p whose own
// deviation sqrt(p (1 - p) / of) puts what was seen at most 1.96 of it away. It lies in [0, 1], and has a width at 0
// and at 1, too.
struct SeenShare {
  uint64_t count = 0, of = 0;

  std::optional<double> value() const;  // none: of nothing
  friend bool operator==(const SeenShare&, const SeenShare&) = default;
};
struct ShareInterval {
  double low = 0, high = 1;
};
// Everything where `share` is of nothing.
ShareInterval wilson_interval(const SeenShare& share);

// The 95 % interval of a's share less b's, of draws that are independent, made of the intervals of both (Newcombe 1998,
// method 10); in [-1, 1]. Everything where one of them is of nothing.
ShareInterval difference_interval(const SeenShare& a, const SeenShare& b);

}  // namespace coterie
