// Devices that stop, in every pattern: the sum is exactly that of the survivors, or the session ends with the fault
// that a model of twenty lines foretells.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "secure/secagg/fault.h"
#include "tests/support/matchers.h"
#include "tests/support/secagg_world.h"

namespace coterie::secagg {
namespace {

using test::SecaggWorld;
using Phase = Server::Phase;

// What a device still does: nothing, advertise, share, mask, everything.
enum Stop : uint8_t { before_advert, before_share, before_input, before_last, never };

bool takes_part(Stop stop, Phase phase) {
  switch (phase) {
    case Phase::advertising: return stop > before_advert;
    case Phase::choosing:
    case Phase::sharing: return stop > before_share;
    case Phase::masking: return stop > before_input;
    case Phase::confirming:
    case Phase::unmasking: return stop > before_last;
  }
  return false;
}

// The model: sets of places, from what the protocol says alone. stops[place].
// chosen[place]: the holders drawn, in a drawn graph.
std::optional<Fault> foretell(const SessionParameters& parameters, const Server& server, const std::vector<Stop>& stops,
                              std::map<uint32_t, std::vector<uint32_t>>& chosen) {
  const auto n = static_cast<uint32_t>(stops.size());
  if (n < parameters.survivors_min) return Fault::cohort_size;
  const uint32_t t = shape_for(parameters, n)->threshold;
  const GraphKind kind = shape_for(parameters, n)->kind;
  std::vector<std::vector<uint32_t>> neighbours(n), holders(n);
  for (uint32_t u = 0; u < n; ++u) {
    for (const RosterEntry& entry : server.view(u).entries) {
      if (entry.device != u) neighbours[u].push_back(entry.device);
      if (entry.device != u || kind == GraphKind::complete) holders[u].push_back(entry.device);
    }
    if (kind == GraphKind::drawn) holders[u] = chosen[u];
  }
  const auto among = [](const std::vector<uint32_t>& list, const std::vector<bool>& set) {
    return static_cast<uint32_t>(std::ranges::count_if(list, [&](uint32_t v) { return set[v]; }));
  };
  const auto who_reached = [&](Stop stop) {
    std::vector<bool> set(n);
    for (uint32_t u = 0; u < n; ++u) set[u] = stops[u] > stop;
    return set;
  };
  std::vector<bool> present = who_reached(before_share), before;
  do {
    before = present;
    for (uint32_t u = 0; u < n; ++u) present[u] = present[u] && among(holders[u], present) >= t;
  } while (present != before);
  std::vector<bool> survived = who_reached(before_input), last = who_reached(before_last), asked(n), answered(n);
  for (uint32_t u = 0; u < n; ++u) survived[u] = survived[u] && present[u], last[u] = last[u] && survived[u];
  if (std::ranges::count(present, true) < parameters.survivors_min) return Fault::too_few_survivors;
  if (std::ranges::count(survived, true) < parameters.survivors_min) return Fault::too_few_survivors;
  const std::vector<bool>& confirmed = parameters.is_active() ? last : survived;
  for (uint32_t u = 0; u < n; ++u) {
    asked[u] = confirmed[u] && among(holders[u], confirmed) >= t;
    answered[u] = asked[u] && last[u];
  }
  for (const auto& set : {asked, answered}) {
    for (uint32_t u = 0; u < n; ++u) {
      const bool needed = survived[u] || (present[u] && among(neighbours[u], survived) > 0);
      if (!needed || among(holders[u], set) >= t) continue;
      return parameters.is_active() && set == asked ? Fault::too_few_confirmations : Fault::below_threshold;
    }
  }
  return std::nullopt;
}

void expect_as_foretold(const SessionParameters& parameters, const std::vector<Stop>& stops, uint64_t seed) {
  SecaggWorld world(parameters, static_cast<uint32_t>(stops.size()), seed);
  world.takes_part = [&](uint32_t who, Phase phase) { return takes_part(stops[who], phase); };
  std::map<uint32_t, std::vector<uint32_t>> chosen;
  world.on_choice = [&](uint32_t, HolderChoice& choice) { chosen[choice.device] = choice.holders; };
  const Status ran = world.run();
  std::vector<Stop> by_place;
  for (uint32_t who = 0; who < stops.size(); ++who) {
    if (stops[who] > before_advert) by_place.push_back(never);
  }
  if (by_place.size() >= parameters.survivors_min) {
    for (uint32_t who = 0; who < stops.size(); ++who) {
      if (stops[who] > before_advert) by_place[world.place(who)] = stops[who];
    }
  }
  const std::optional<Fault> foretold = foretell(parameters, world.server(), by_place, chosen);
  std::string pattern;
  for (const Stop stop : stops) pattern += static_cast<char>('0' + stop);
  if (foretold) {
    ASSERT_FALSE(ran) << pattern << ": expected " << to_string(*foretold);
    ASSERT_EQ(fault_of(ran.error()), foretold) << pattern << ": " << ran.error().message();
    return;
  }
  ASSERT_OK(ran) << pattern;
  const auto sum = world.sum(1 + seed % 3);
  ASSERT_OK(sum) << pattern;
  ASSERT_EQ(*sum, world.sum_of_survivors()) << pattern;
}

std::vector<Stop> pattern_of(uint64_t number, uint32_t n) {
  std::vector<Stop> stops;
  for (; stops.size() < n; number /= 5) stops.push_back(static_cast<Stop>(number % 5));
  return stops;
}

// In a complete graph devices differ by their place alone, which is drawn at random: one pattern of each set of stops.
enum class Patterns : uint8_t { all, all_but_permutations };

struct Cohort {
  SecurityLevel level;
  double dropout_share;  // small cohorts that expect none form a ring, others are complete
  uint32_t size;
  Patterns patterns = Patterns::all;
};

class EveryPattern : public ::testing::TestWithParam<Cohort> {};

TEST_P(EveryPattern, EndsAsForetold) {
  SessionParameters parameters = test::secagg_parameters(GetParam().level);
  parameters.dropout_share = GetParam().dropout_share;
  uint64_t patterns = 1;
  for (uint32_t i = 0; i < GetParam().size; ++i) patterns *= 5;
  for (uint64_t number = 0; number < patterns && !HasFatalFailure(); ++number) {
    const std::vector<Stop> stops = pattern_of(number, GetParam().size);
    if (GetParam().patterns == Patterns::all_but_permutations && !std::ranges::is_sorted(stops)) continue;
    expect_as_foretold(parameters, stops, number + 1);
  }
}

std::string cohort_name(const ::testing::TestParamInfo<Cohort>& info) {
  return std::string(to_string(info.param.level)) + (info.param.dropout_share < .2 ? "_few_" : "_many_") +
         std::to_string(info.param.size);
}

constexpr auto kMasked = SecurityLevel::masked, kActive = SecurityLevel::active;

#ifdef COT_NIGHTLY
INSTANTIATE_TEST_SUITE_P(Nightly, EveryPattern,
                         ::testing::Values(Cohort{kMasked, .1, 5}, Cohort{kMasked, .1, 6}, Cohort{kMasked, .4, 5},
                                           Cohort{kMasked, .4, 6}, Cohort{kActive, .1, 4}, Cohort{kActive, .1, 5},
                                           Cohort{kActive, .1, 6}),
                         cohort_name);
#else
constexpr auto kOnce = Patterns::all_but_permutations;
INSTANTIATE_TEST_SUITE_P(Dropouts, EveryPattern,
                         ::testing::Values(Cohort{kMasked, .1, 2}, Cohort{kMasked, .1, 3}, Cohort{kMasked, .1, 4},
                                           Cohort{kMasked, .4, 3}, Cohort{kMasked, .4, 4, kOnce},
                                           Cohort{kMasked, .4, 6, kOnce}, Cohort{kActive, .1, 2},
                                           Cohort{kActive, .1, 3}, Cohort{kActive, .1, 4, kOnce},
                                           Cohort{kActive, .1, 5, kOnce}, Cohort{kActive, .1, 6, kOnce}),
                         cohort_name);
#endif

// Cohorts too large for every pattern: each device stops somewhere with probability `stopping`.
struct Crowd {
  SecurityLevel level;
  double corrupt_share, dropout_share;
  uint32_t size;
  GraphKind graph;
  double stopping;
  uint32_t ring_bits;
};

class RandomPattern : public ::testing::TestWithParam<Crowd> {};

TEST_P(RandomPattern, EndsAsForetold) {
  const Crowd& crowd = GetParam();
  SessionParameters parameters = test::secagg_parameters(crowd.level);
  parameters.corrupt_share = crowd.corrupt_share;
  parameters.dropout_share = crowd.dropout_share;
  parameters.ring_bits = crowd.ring_bits;
  ASSERT_EQ(shape_for(parameters, crowd.size)->kind, crowd.graph);
  Prng prng(crowd.size);
  std::vector<Stop> stops(crowd.size, never);
  // All adverts come: the shape that is wanted is that of the whole cohort.
  for (Stop& stop : stops) {
    if (prng.uniform() < crowd.stopping) stop = static_cast<Stop>(1 + prng.below(3));
  }
  expect_as_foretold(parameters, stops, crowd.size);
}

std::string crowd_name(const ::testing::TestParamInfo<Crowd>& info) {
  return std::string(to_string(info.param.level)) + "_" + std::to_string(info.param.size) + "_stopping_" +
         std::to_string(static_cast<int>(info.param.stopping * 100)) + "_ring_" + std::to_string(info.param.ring_bits);
}

#ifdef COT_NIGHTLY
INSTANTIATE_TEST_SUITE_P(Nightly, RandomPattern,
                         ::testing::Values(Crowd{kMasked, .1, .1, 1000, GraphKind::ring, .1, 32},
                                           Crowd{kMasked, .1, .3, 1000, GraphKind::ring, .3, 40},
                                           Crowd{kActive, .1, .1, 300, GraphKind::drawn, .1, 11},
                                           Crowd{kActive, .1, .1, 1000, GraphKind::drawn, .1, 32},
                                           Crowd{kMasked, .1, .1, 3000, GraphKind::ring, .1, 24}),
                         crowd_name);
#else
INSTANTIATE_TEST_SUITE_P(Dropouts, RandomPattern,
                         ::testing::Values(Crowd{kMasked, .1, .1, 100, GraphKind::ring, 0, 32},
                                           Crowd{kMasked, .1, .1, 100, GraphKind::ring, .1, 16},
                                           Crowd{kMasked, .1, .1, 100, GraphKind::ring, .7, 64},
                                           Crowd{kActive, .3, .1, 60, GraphKind::complete, .1, 27},
                                           Crowd{kActive, .3, .1, 60, GraphKind::complete, .5, 27},
                                           Crowd{kActive, .1, .02, 256, GraphKind::drawn, .02, 11}),
                         crowd_name);
#endif

}  // namespace
}  // namespace coterie::secagg
