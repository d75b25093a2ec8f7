#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "aggregation/strategy/mean_step.h"
#include "proto/messages/group_weights.h"
#include "proto/messages/told_weight.h"

namespace coterie::strategy {
namespace {

constexpr SettingRange kGroups{
    [](float value) { return value == std::floor(value) && value >= kGroupsMin && value <= kGroupsMax; },
    "must be a whole number in [2, 8]"};

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 1.0f, kAboveZero, "factor of each step"},
    {"groups", 2.0f, kGroups, "groups that devices are in: each says its own, from 1 on"},
    {"group_learning_rate", 0.1f, kFromZero, "how far a round moves a group's weight by what the model loses there"},
    {"loss_max", 10.0f, kLossBound, "devices with a larger loss weigh as with this one"},
};

size_t groups_of(std::span<const float> settings) { return static_cast<size_t>(settings[1]); }
size_t round_values(std::span<const float> settings) { return 2 * groups_of(settings); }
float state_start(size_t, std::span<const float> settings) { return 1 / settings[1]; }

// Rounds over which a group's share is averaged: long enough that who happens to come does not sway it.
constexpr uint64_t kShareRounds = 16;
// Where all devices that came are of groups whose weight is next to nothing, nothing is left of their updates to go by.
constexpr double kFactorsMeanMin = 1e-6;

// What a round tells of a group.
struct Group {
  double share = 0;  // of the round's weight; 0: nobody of it came
  double loss = 0;   // the mean of its devices', by their weights
};

// However devices lie, shares are such that some devices may have.
std::vector<Group> groups_in(const StrategyRound& round) {
  const size_t count = groups_of(round.settings);
  const auto loss_max = static_cast<double>(round.settings[3]);
  std::vector<Group> groups(count);
  double all = 0;
  for (size_t g = 0; g < count; ++g) {
    const double share = std::min(round.scalars[g], 1.0);
    if (!is_of_a_device(share * round.weight)) continue;
    groups[g] = {share, std::clamp(round.scalars[count + g] / share, 0.0, loss_max)};
    all += share;
  }
  for (Group& group : groups) group.share = all > 0 ? group.share / all : 0;
  return groups;
}

// Each device has multiplied its update by its group's factor, and weighs as ever: what is left is to divide the mean
// of what was sent by the mean of the factors.
float step_factor(const StrategyRound& round) {
  const std::vector<Group> groups = groups_in(round);
  const std::vector<double> factors = group_factors(round.state, static_cast<uint32_t>(groups.size()));
  double mean = 0;
  for (size_t g = 0; g < groups.size(); ++g) mean += groups[g].share * factors[g];
  return mean >= kFactorsMeanMin ? static_cast<float>(1 / mean) : 0;
}

// The nearest of all vectors that are nowhere below 0 and whose sum is `sum`: all are lowered by the same, as far as 0.
void project(std::span<double> values, double sum) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted, std::greater());
  double so_far = 0, lower = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    so_far += sorted[i];
    const double by = (so_far - sum) / static_cast<double>(i + 1);
    if (i == 0 || sorted[i] > by) lower = by;
  }
  for (double& value : values) value = std::max(0.0, value - lower);
}

// lambda <- projection of lambda + gamma F. It moves among the groups of which somebody came: what the others lose is
// not known, and they keep theirs.
void move_weights(const std::vector<Group>& groups, double rate, std::span<float> weights) {
  std::vector<size_t> seen;
  std::vector<double> moved;
  double sum = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].share == 0) continue;
    const auto weight = static_cast<double>(weights[g]);
    seen.push_back(g);
    sum += weight;
    moved.push_back(weight + rate * groups[g].loss);
  }
  if (seen.size() < 2) return;
  project(moved, sum);
  for (size_t i = 0; i < seen.size(); ++i) weights[seen[i]] = static_cast<float>(moved[i]);
}

void move_state(const StrategyRound& round, std::span<float> state) {
  const std::vector<Group> groups = groups_in(round);
  if (std::ranges::all_of(groups, [](const Group& group) { return group.share == 0; })) return;
  move_weights(groups, static_cast<double>(round.settings[2]), state.first(groups.size()));
  const double part = 1 / static_cast<double>(std::min(round.rounds + 1, kShareRounds));
  for (size_t g = 0; g < groups.size(); ++g) {
    float& share = state[groups.size() + g];
    share = static_cast<float>(static_cast<double>(share) + part * (groups[g].share - static_cast<double>(share)));
  }
}

constexpr ScalarKind kScalars[] = {ScalarKind::group_member, ScalarKind::group_loss};

}  // namespace

extern const StrategyRule kAfl = {
    .name = "afl",
    .stored_as = 12,
    .sentence = "groups of devices weigh the more, the longer the model serves them worse than others",
    .source = "Mohri et al. 2019, Stochastic-AFL with the groups' mean losses",
    .learning_rate_advised = 1.0,
    .settings = kSettings,
    .state_vectors = 1,
    .state_start = state_start,
    .apply = mean_step,
    .scalars = kScalars,
    .step_factor = step_factor,
    .round_values = round_values,
    .move_state = move_state,
};

}  // namespace coterie::strategy
