// What a desk tells of the devices that asked in a round: one gate each.
#include <gmock/gmock.h>

#include "tests/unit/scheduler/desk_script.h"

namespace coterie {
namespace {

using desk_script::Desk;
using desk_script::device;
using desk_script::kPhones;
using desk_script::kTablets;
using desk_script::notice;
using desk_script::tickets_in;

const RoundKey kFirst{RoundId(1), Attempt(1)};

RoundNotice collecting(uint32_t tickets, uint64_t round = 1, const std::string& job = "j") {
  return notice(RoundState::collecting, tickets, kPhones, round, job);
}

TEST(DeskGates, SayWhatBecameOfEachThatAsked) {
  Desk desk;
  for (uint64_t i = 1; i <= 5; ++i) desk.check_in(i, i);
  desk.check_in(6, 6, kTablets);  // of another population: it does not ask
  RoundNotice round = collecting(3);
  round.assignment.model.bytes[0] = 7;
  std::vector<uint64_t> drawn;
  for (const std::string& waiter : tickets_in(desk.publish(round, {}, {device(5)})))
    drawn.push_back(std::stoull(waiter));
  ASSERT_EQ(drawn.size(), 3u);
  desk.check_in(7, 7);  // no ticket is left
  desk.check_in(8, 8, kPhones, Millis(0));
  desk.at(1'000);
  EXPECT_EQ(desk.gates(), "7 asked: waiting 1, not_drawn 1, no_place 1, resting 1, ticket 3");
  // One of the three fetches the model, one refuses the plan.
  desk.desk().fetched(device(drawn[0]), round.assignment.model);
  desk.desk().met(kFirst, device(drawn[1]), {DeviceGate::plan_refused, "charging"});
  desk.at(2'100);
  EXPECT_EQ(desk.gates(),
            "7 asked: waiting 1, not_drawn 1, no_place 1, resting 1, ticket 1, downloaded 1, plan_refused/charging 1");
  desk.desk().met(kFirst, device(drawn[0]), {DeviceGate::uploading});
  desk.accepted(drawn[0]);
  desk.cancel(7);
  desk.withdraw();
  EXPECT_EQ(desk.gates(),
            "7 asked: not_drawn 1, no_place 1, resting 1, gone 1, ticket 1, plan_refused/charging 1, counted 1");
  desk.desk().check();
}

TEST(DeskGates, AreOfEachRoundThatAskedForThePopulation) {
  Desk desk;
  desk.publish(collecting(1, 1, "a"));
  desk.publish(collecting(1, 2, "b"));
  desk.check_in(1, 1);
  desk.check_in(2, 2);
  desk.check_in(3, 3, kPhones, Millis(0));
  desk.withdraw(1);
  desk.withdraw(2);
  EXPECT_EQ(desk.gates(1), "3 asked: no_place 1, other_round 1, ticket 1");
  EXPECT_EQ(desk.gates(2), "3 asked: no_place 1, other_round 1, ticket 1");
}

TEST(DeskGates, KnowWhoDoesNotKnowThePlan) {
  Desk desk;
  RoundNotice round = collecting(5);
  round.plan.analytics = AnalyticsRules{.kind = AnalyticsKind::evaluation, .evaluation = EvaluationRules{}};
  desk.publish(round);
  desk.check_in_knowing(0, 1, 1);
  desk.check_in(2, 2);
  desk.at(1'000);
  EXPECT_EQ(desk.gates(), "2 asked: unsupported 1, ticket 1");
}

TEST(DeskGates, LeaveTheRoundsThatGoOnAlone) {
  Desk desk;
  desk.publish(collecting(1), {device(9)});
  desk.check_in(1, 1);
  desk.check_in(2, 9);  // counted before its round was heard of here: it is told of by whoever gave it the ticket
  desk.check_in(3, 3);
  desk.undelivered(1);  // the one that waited longest gets it
  desk.publish(notice(RoundState::frozen, 1));
  desk.check_in(4, 4);  // behind the end of the collection
  desk.at(1'000);
  EXPECT_EQ(desk.gates(), "2 asked: gone 1, ticket 1");
  // Another attempt: its devices ask anew.
  RoundNotice again = collecting(1);
  again.key.attempt = Attempt(2);
  desk.publish(again);
  desk.at(2'100);
  EXPECT_EQ(desk.gates(), "2 asked: gone 1, ticket 1");
}

}  // namespace
}  // namespace coterie
