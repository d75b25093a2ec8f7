#include "scheduler/fleet/fleet_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::Pair;

const Population kPhones("phones");
const RoundKey kRound{RoundId(7), Attempt(1)};
constexpr Millis kSilenceMax{10'000};

NodeRow node(const std::string& name, uint64_t waiting, uint32_t issued = 0, uint64_t lacking = 0,
             Millis age = Millis(0)) {
  NodeRow row;
  row.report = {.node = name,
                .incarnation = name,
                .url = {},
                .serves = true,
                .draining = false,
                .load = {},
                .waiting = {{kPhones, waiting}},
                .issued = {{kRound, issued}},
                .lacking = {{kRound, lacking}},
                .accepted = {}};
  row.age = age;
  return row;
}

uint32_t sum(const TicketShares& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0u,
                         [](uint32_t all, const auto& share) { return all + share.second; });
}

TEST(FleetTally, AddsUpWhoWaitsAtNodesThatLiveAndServeAndStay) {
  FleetTally tally(kSilenceMax);
  NodeRow leaving = node("c", 100);
  leaving.report.draining = true;
  NodeRow scheduler = node("d", 100);
  scheduler.report.serves = false;
  tally.hear({node("a", 3), node("b", 4), leaving, scheduler, node("e", 100, 0, 0, kSilenceMax)});
  EXPECT_EQ(tally.nodes(), 2u);
  EXPECT_EQ(tally.waiting(kPhones), 7u);
  EXPECT_EQ(tally.waiting(Population("tablets")), 0u);
}

TEST(FleetTally, SaysByHowManyAPopulationIsSteeredSeldomAndNeverTooFew) {
  const auto steered = [](uint64_t here, uint64_t there) {
    FleetTally tally(kSilenceMax);
    NodeRow one = node("a", 0), two = node("b", 0), dead = node("c", 0, 0, 0, kSilenceMax);
    one.report.steered = {{kPhones, here}};
    two.report.steered = {{kPhones, there}};
    dead.report.steered = {{kPhones, 1'000'000}};
    tally.hear({one, two, dead});
    return tally.steered();
  };
  EXPECT_TRUE(steered(300, 300).empty()) << "a handful comes back as it likes";
  uint64_t said = 0, changes = 0;
  for (uint64_t count = 700; count < 1'000'000; count += 997) {
    const std::map<Population, uint64_t> all = steered(count / 3, count - count / 3);
    ASSERT_THAT(all, ElementsAre(Pair(kPhones, testing::AllOf(testing::Ge(count), testing::Le(count * 3 / 2)))));
    changes += said != all.at(kPhones);
    said = all.at(kPhones);
  }
  EXPECT_LE(changes, 25u);
}

TEST(FleetTally, DealsTicketsInProportionToWhoWaits) {
  FleetTally tally(kSilenceMax);
  tally.hear({node("a", 30), node("b", 10), node("c", 0)});
  tally.serve(kRound, kPhones, 20);
  EXPECT_THAT(tally.shares(kRound), ElementsAre(Pair("a", 15u), Pair("b", 5u), Pair("c", 0u)));
}

TEST(FleetTally, SpreadsEvenlyWhatNobodyWaitsForYet) {
  FleetTally tally(kSilenceMax);
  tally.hear({node("a", 4), node("b", 0), node("c", 0)});
  tally.serve(kRound, kPhones, 10);
  EXPECT_THAT(tally.shares(kRound), ElementsAre(Pair("a", 6u), Pair("b", 2u), Pair("c", 2u)));
}

TEST(FleetTally, MovesTicketsToWhereDevicesLackThem) {
  FleetTally tally(kSilenceMax);
  tally.hear({node("a", 4), node("b", 0)});
  tally.serve(kRound, kPhones, 10);
  EXPECT_THAT(tally.shares(kRound), ElementsAre(Pair("a", 7u), Pair("b", 3u)));
  tally.hear({node("a", 2, 7, 2), node("b", 0)});  // two more came to a than it has tickets for
  EXPECT_THAT(tally.shares(kRound), ElementsAre(Pair("a", 9u), Pair("b", 1u)));
  EXPECT_EQ(tally.issued(kRound), 7u);
}

TEST(FleetTally, LeavesSharesAloneWhileNobodyLacksAny) {
  FleetTally tally(kSilenceMax);
  tally.hear({node("a", 5), node("b", 5)});
  tally.serve(kRound, kPhones, 10);
  const TicketShares before = tally.shares(kRound);
  tally.hear({node("a", 30, 5), node("b", 0, 1)});  // those who wait at a have had theirs
  EXPECT_EQ(tally.shares(kRound), before);
}

TEST(FleetTally, CountsTheTicketsOfADeadNodeAndDealsItsOthersAgain) {
  FleetTally tally(kSilenceMax);
  tally.hear({node("a", 5), node("b", 5)});
  tally.serve(kRound, kPhones, 10);
  tally.hear({node("a", 0, 5, 3), node("b", 0, 2, 0, kSilenceMax)});
  EXPECT_EQ(tally.issued(kRound), 7u);
  EXPECT_THAT(tally.shares(kRound), ElementsAre(Pair("a", 8u)));
}

TEST(FleetTally, ANodeStartedAgainHasGivenNothingInItsNewLife) {
  FleetTally tally(kSilenceMax);
  tally.hear({node("a", 4)});
  tally.serve(kRound, kPhones, 6);
  tally.hear({node("a", 0, 4)});
  NodeRow again = node("a", 2, 0, 2);
  again.report.incarnation = "another life";
  tally.hear({again});
  EXPECT_EQ(tally.issued(kRound), 4u);
  EXPECT_THAT(tally.shares(kRound), ElementsAre(Pair("another life", 2u))) << "6 less the 4 of its former life";
}

TEST(FleetTally, ANewNodeGetsAShareAtOnce) {
  FleetTally tally(kSilenceMax);
  tally.hear({node("a", 0)});
  tally.serve(kRound, kPhones, 10);
  tally.hear({node("a", 0), node("b", 0)});
  EXPECT_THAT(tally.shares(kRound), ElementsAre(Pair("a", 5u), Pair("b", 5u)));
}

// Whatever is reported: what may still be given and what was given make up the round's tickets.
TEST(FleetTally, NoTicketIsLostOrMadeByDealing) {
  Prng prng = Prng::derived(17, 0);
  for (int round = 0; round < 500; ++round) {
    FleetTally tally(kSilenceMax);
    const auto names = std::vector<std::string>{"a", "b", "c", "d", "e"};
    std::map<std::string, uint32_t> issued;
    const auto rows = [&] {
      std::vector<NodeRow> all;
      for (const std::string& name : names) {
        const Millis age = prng.chance(0.1) ? kSilenceMax : Millis(0);
        all.push_back(node(name, prng.below(20), issued[name], prng.chance(0.5) ? prng.below(20) : 0, age));
      }
      return all;
    };
    const auto tickets = static_cast<uint32_t>(prng.below(100));
    tally.hear(rows());
    tally.serve(kRound, kPhones, tickets);
    for (int step = 0; step < 10; ++step) {
      const TicketShares shares = tally.shares(kRound);
      for (const auto& [name, share] : shares) {
        if (share > issued[name]) issued[name] += static_cast<uint32_t>(prng.below(share - issued[name] + 1));
      }
      tally.hear(rows());
      if (tally.nodes() == 0 || tally.shares(kRound).empty()) continue;
      uint32_t dead = tally.issued(kRound);
      for (const auto& [name, share] : tally.shares(kRound)) dead -= issued[name];
      ASSERT_LE(tally.issued(kRound), tickets);
      ASSERT_LE(sum(tally.shares(kRound)) + dead, tickets) << "round " << round << " step " << step;
    }
  }
}

}  // namespace
}  // namespace coterie
