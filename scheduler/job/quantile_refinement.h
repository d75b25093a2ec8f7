// Quantiles of a histogram of numbers, closer from round to round: each round has as many edges as the first one, and
// has them where the quantiles lie by the round before. Pure.
//
// A round's edges are dealt out to the quantiles alike, evenly over the stretch in which each may lie. So a range that
// is told narrows by edges / quantiles - 1 from round to round, in the unit of the column: bins of width w come to
//
//   w / (edges / quantiles - 1)^(rounds - 1)
//
// Noise keeps it wider: a stretch has all bins that three deviations of it leave. So do rounds that ask other devices
// each, whose quantiles differ: their stretch has what two rounds of so many answers differ by, three deviations of the
// share below. And float32 does: edges stay apart by some of its steps.
//
// What is told is no wider than the stretch that the round has looked at, as the rounds before have said more of what
// lies outside. Where the round itself says that a quantile lies beyond, that is told, and the next round begins there:
// up to the first round's last edge, and where it lies beyond these, as far again.
#pragma once

#include <span>
#include <vector>

#include "scheduler/job/analytics_result.h"
#include "scheduler/job/analytics_settings.h"

namespace coterie {

inline constexpr uint32_t kRefinedRoundsMax = 32;
inline constexpr uint32_t kRefinedEdgesMin = 4;  // of a quantile

// What a round counts between, and where it looks for each quantile: with no bounds in the first round.
struct RefinedEdges {
  std::vector<double> edges;
  std::vector<QuantileRange> stretches;
};
// Those of the first round. The settings are valid, and refine, as below.
RefinedEdges first_edges(const AnalyticsSettings& analytics);

// Those of the next round: as many edges, ascending as float32 also where examples have them. `asked`: of the round
// that has counted `counts`, with `noise` in each.
RefinedEdges refined_edges(const AnalyticsSettings& analytics, const RefinedEdges& asked, std::span<const float> counts,
                           double noise, bool asks_others);

// What such a round says of the quantiles.
std::vector<QuantileRange> refined_ranges(const AnalyticsSettings& analytics, const RefinedEdges& asked,
                                          std::span<const float> counts, double noise);

}  // namespace coterie
