// Groups of devices, the worst served of which the model is to serve as well as can be: agnostic federated learning
// (AFL, Mohri, Sivek and Suresh 2019), which trains for
//
//   min over models of  max over lambda on the simplex of  sum of lambda_g F_g     F_g: the mean loss of group g
//
// A round has a weight lambda_g for each group and the share p_g that its devices have had of the rounds so far. Both
// are the state of the server's strategy (aggregation/strategy/rules/afl.cc), and the plan of a round names its file as
// the plan's control: [lambda_1 .. lambda_G, p_1 .. p_G]. None is named in the first round: all are 1 / G then. A
// device of group g multiplies its update by
//
//   s_g = a_g / max a      a_g = lambda_g / p_g
//
// which is at most 1, so that clip and lanes hold for what it sends, and cancels in the quotient that the server makes.
// Without p a group would count by lambda times how many of its devices came. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace coterie {

struct UpdateRules;

inline constexpr uint32_t kGroupsMin = 2, kGroupsMax = 8;
// A group's share counts as no less: how much a rare group's device weighs has an end.
inline constexpr double kGroupShareMin = 1.0 / 1024;

// 0: the plan's devices are in none.
uint32_t group_count(const UpdateRules& rules);

// Numbers in the file that such a plan's control names: of each group two; or as many as the update's control part has.
uint64_t handed_value_count(const UpdateRules& rules);

// s_g of each group; ones for an empty state. Precondition: check_group_weights(state).
std::vector<double> group_factors(std::span<const float> state, uint32_t groups);

// invalid_argument if these are no weights and shares of groups: each in [0, 1], and some weight above 0.
Status check_group_weights(std::span<const float> state);

}  // namespace coterie
