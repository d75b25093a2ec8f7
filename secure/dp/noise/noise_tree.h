// Noise that is shared between rounds (DP-FTRL: Kairouz et al. 2021, arXiv 2103.00039; the tree is Chan, Shi and Song
// 2011): the sum of the first t rounds has the noise of the tree nodes that cover them, and so the noise of round t is
//
//   noise(prefix t) - noise(prefix t - 1).
//
// A node is named by its last round. Node t is drawn in round t and covers the rounds before_node(t) + 1 ... t, so many
// as the lowest one of t in base 2 says. Prefix t is covered by the nodes t, before_node(t), ... down to 0: as many as
// t has ones, each with noise of its own, so that the prefix has so many times a node's variance.
//
//   round 1: + n1      round 3: + n3              round 5: + n5
//   round 2: + n2 - n1 round 4: + n4 - n2 - n3    round 6: + n6 - n5
//
// A node that prefix t has and prefix t + 1 has not is in no later one. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace coterie {

// The rounds up to this one are not node t's; t > 0.
constexpr uint64_t before_node(uint64_t t) { return t & (t - 1); }

// The nodes of the first t rounds, the last first; empty for 0.
std::vector<uint64_t> nodes_of_prefix(uint64_t t);

// Those of prefix t - 1 that prefix t has not, the last first: their noise is taken off in round t, which is above 0.
// They are all that prefix t - 1 has behind before_node(t).
std::vector<uint64_t> nodes_ended_by(uint64_t t);

}  // namespace coterie
