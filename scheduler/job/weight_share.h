// How much of a round one device may weigh. A device says itself how many examples it has, and its update is multiplied
// by that: one of weight 16384 among 20 of weight 10 is 0.989 of their mean. So a round's plan has a weight_max of its
// own, made of what is known before the round. Pure; docs/adr/0078.
#pragma once

#include <cstdint>
#include <vector>

namespace coterie {

struct HorizontalSettings;

// The share of a round's weight that one device has at most, by default: where the server sees single updates and a
// round has enough of them, which is not buffered. 1: any.
inline constexpr double kWeightShareDefault = 0.1;
inline constexpr uint32_t kWeightShareGoalMin = 20;
double default_weight_share_max(const HorizontalSettings& settings);

// The largest whole number w, at least 1, so that a device with w among goal_count - 1 others that weigh `median` each
// has at most `share` of their weight: w <= share (w + (goal_count - 1) median). Precondition: share in (0, 1), median
// at least 1. Where half of the others weigh nothing, it is 2 share / (1 + share).
uint64_t weight_max_for_share(double share, uint32_t goal_count, uint64_t median);

// The lower one, where there are two. 0 of nothing.
uint64_t lower_median(std::vector<uint64_t> values);

}  // namespace coterie
