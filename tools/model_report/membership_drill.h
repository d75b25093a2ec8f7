// How far somebody who sees a model tells the examples that it was trained on from others, by their loss alone. Pure.
//
// Members are examples that the model was trained on, others are ones that it has never seen, drawn alike. A model that
// has learnt examples by heart loses less on members, and who knows an example and the model guesses from that whether
// the example was there. The attack says "member" where the loss is at most a threshold:
//
//   area         the area under its ROC curve over all thresholds; .5 is a guess
//   advantage    true positives less false positives at the mean loss of members (Yeom, Giacomelli, Fredrikson and Jha
//                2018, definition 4 and adversary 2); balanced accuracy is (1 + advantage) / 2
//   found        true positives at the threshold at which no more than 1 % or .1 % of the others are taken for members:
//                what an attacker finds who wants to be nearly sure (Carlini et al. 2022)
//
// Attackers who train models of their own find more (ibid.): what the drill finds is the least that there is to find.
//
// What (epsilon, delta) allows, whatever the attack: advantage (e^epsilon - 1 + 2 delta) / (e^epsilon + 1), and at a
// false-positive rate f true positives e^epsilon f + delta or 1 - (1 - delta - f) / e^epsilon, whichever is less
// (Kairouz, Oh and Viswanath 2015, theorem 2.1 and its corner).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/compare/rank_area.h"
#include "tools/compare/statistics.h"

namespace coterie {

struct FoundMembers {
  double false_positives = 0;      // at most so many of the others
  SeenShare taken;                 // others that are taken for members
  std::optional<SeenShare> found;  // of the members; none: there are too few others to tell
};

struct MembershipDrill {
  std::string data_name;  // of the members
  uint64_t members = 0, others = 0;
  double member_loss = 0, other_loss = 0;  // means, of what is finite
  RankArea area;
  SeenShare true_positives, false_positives;  // at the mean loss of members
  std::vector<FoundMembers> found;            // at 1 % and at .1 %

  double advantage() const;
  ShareInterval advantage_interval() const { return difference_interval(true_positives, false_positives); }
};

// Losses of each; of at least one example, and never NaN.
MembershipDrill membership_drill(std::vector<double> members, std::vector<double> others);

// What was promised of the model.
struct PrivacyPromise {
  double epsilon = 0, delta = 0;

  double advantage_max() const;
  double true_positives_max(double false_positives) const;
};

// Whether what was seen is more than the promise allows, but for chance: the lower ends of intervals against what is
// allowed at the upper end of the false positives', as so few of the others say where the threshold is.
bool breaks(const MembershipDrill& drill, const PrivacyPromise& promise);

}  // namespace coterie
