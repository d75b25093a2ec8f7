// A desk and devices that do not know all that plans ask for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "scheduler/selection/checkin_desk.h"
#include "tests/unit/scheduler/desk_script.h"

namespace coterie {
namespace {

using namespace desk_script;
using testing::Contains;
using testing::HasSubstr;

// A round whose plan has a feature of today, and devices of an older SDK, which know none of these.
RoundNotice evaluating_round(uint32_t tickets, uint64_t round = 1, const std::string& job = "j") {
  RoundNotice evaluating = notice(RoundState::collecting, tickets, kPhones, round, job);
  evaluating.plan.analytics = AnalyticsRules{.kind = AnalyticsKind::evaluation, .evaluation = EvaluationRules{}};
  return evaluating;
}

uint64_t counted_as(const Desk& desk, DeviceGate outcome) { return desk.desk().counts()[static_cast<size_t>(outcome)]; }

TEST(UnsupportedAtCheckin, AsksNobodyForAPlanThatItDoesNotKnow) {
  Desk desk;
  desk.check_in_knowing(0, 1, 1);
  desk.check_in(2, 2);
  EXPECT_EQ(tickets_in(desk.publish(evaluating_round(2))), (std::set<std::string>{"2"}));
  EXPECT_EQ(tickets_in(desk.check_in_knowing(0, 3, 3)), std::set<std::string>{}) << "there is a ticket left";
  EXPECT_THAT(desk.at(kHold.count()), Contains(HasSubstr("dismiss 1: unsupported")));
  EXPECT_EQ(counted_as(desk, DeviceGate::unsupported), 2u);
  EXPECT_EQ(tickets_in(desk.check_in_knowing(kKnownFeatures | 1ull << 63, 4, 4)), (std::set<std::string>{"4"}))
      << "who knows more than this server knows that, too";
}

// A device of an SDK that evaluates models, and knows nothing of columns that are permuted.
TEST(UnsupportedAtCheckin, AsksWhoEvaluatesForNoImportance) {
  constexpr PlanFeatures kBefore = kKnownFeatures & ~plan_feature::kImportance;
  Desk desk;
  RoundNotice permuting = evaluating_round(2);
  permuting.plan.analytics->evaluation->importance = ImportanceRules{.columns = {{0, 1}}};
  desk.check_in_knowing(kBefore, 1, 1);
  desk.check_in(2, 2);
  EXPECT_EQ(tickets_in(desk.publish(permuting)), (std::set<std::string>{"2"}));
  EXPECT_EQ(tickets_in(desk.publish(evaluating_round(1, 9, "plain"))), (std::set<std::string>{"1"}));
}

TEST(UnsupportedAtCheckin, AsksWhoeverKnowsLittleForOtherPlans) {
  Desk desk;
  desk.publish(evaluating_round(2));
  desk.check_in_knowing(0, 1, 1);
  EXPECT_EQ(tickets_in(desk.publish(notice(RoundState::collecting, 1, kPhones, 7, "plain"))),
            (std::set<std::string>{"1"}));
}

// The nearest reason: a round that has no ticket left would have taken it.
TEST(UnsupportedAtCheckin, SaysUnsupportedWhereNoOtherRoundIsNearer) {
  Desk desk;
  desk.publish(evaluating_round(2));
  desk.publish(notice(RoundState::collecting, 1, kPhones, 7, "plain"));
  desk.check_in(1, 1);
  desk.check_in(2, 2);
  desk.check_in_knowing(0, 3, 3, Millis(0));
  const uint64_t no_place = counted_as(desk, DeviceGate::no_place);
  const uint64_t unsupported = counted_as(desk, DeviceGate::unsupported);
  EXPECT_EQ(no_place + unsupported + counted_as(desk, DeviceGate::ticket), 3u);
  desk.withdraw(7);
  desk.check_in_knowing(0, 4, 4, Millis(0));
  EXPECT_EQ(counted_as(desk, DeviceGate::unsupported), unsupported + 1);
  desk.publish(evaluating_round(2), {device(5)});
  desk.check_in_knowing(0, 5, 5, Millis(0));
  EXPECT_EQ(counted_as(desk, DeviceGate::counted), 1u) << "it was asked when it knew more";
}

TEST(UnsupportedAtCheckin, WhoDoesNotKnowAPlanIsNoneOfThoseThatItsRoundLacks) {
  Desk desk;
  desk.publish(evaluating_round(1));
  desk.check_in(1, 1);
  desk.check_in_knowing(0, 2, 2);
  desk.check_in(3, 3);
  EXPECT_EQ(desk.desk().lacking().at({RoundId(1), Attempt(1)}), 1u);
}

}  // namespace
}  // namespace coterie
