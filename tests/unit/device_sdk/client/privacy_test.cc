// Plans with a security level: which of them a device trains under, and how a session of secure aggregation
// ends for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

using Phase = ParticipantPhase;

// The epsilon that it names is not what its noise gives.
PrivacyRules promising_less_noise(PrivacyRules rules) {
  rules.noise_variance_local *= 0.9;
  return rules;
}

TEST(ParticipantPrivacy, RefusesPlansThatPromiseLessThanItsPolicyAsks) {
  const struct {
    PrivacyRules plan;
    SecurityLevel level_min;
    uint32_t cohort_min;
    std::string_view reason;  // empty: trains
  } rows[] = {
      {{}, SecurityLevel::none, 2, ""},
      {{}, SecurityLevel::none, 100, ""},  // no level promises no cohort: security_level_min is what refuses it
      {{}, SecurityLevel::masked, 2, "security_level"},
      {rules_of(SecurityLevel::masked), SecurityLevel::none, 2, ""},
      {rules_of(SecurityLevel::masked), SecurityLevel::active, 2, "security_level"},
      {rules_of(SecurityLevel::active), SecurityLevel::active, 2, ""},
      {rules_of(SecurityLevel::active), SecurityLevel::masked, 2, ""},
      {rules_of(SecurityLevel::active_dp), SecurityLevel::active_dp, 2, ""},
      {promising_less_noise(rules_of(SecurityLevel::active_dp)), SecurityLevel::none, 2, "epsilon_round"},
      {rules_of(SecurityLevel::masked, 4), SecurityLevel::none, 5, "cohort_min"},
      {rules_of(SecurityLevel::masked, 5), SecurityLevel::none, 5, ""},
  };
  int row_number = 0;
  for (const auto& row : rows) {
    SCOPED_TRACE(row_number++);
    ParticipantPolicy policy;
    policy.privacy.security_level_min = row.level_min;
    policy.privacy.cohort_min = row.cohort_min;
    Dialogue d(1, policy);
    d.privacy = row.plan;
    d.reach(Phase::assigned);
    d.tell(d.good_answer());
    if (row.reason.empty()) {
      EXPECT_EQ(d.state().phase, Phase::planned);
      continue;
    }
    EXPECT_EQ(d.state().phase, Phase::idle);
    ASSERT_TRUE(d.machine->last_error());
    EXPECT_EQ(d.machine->last_error()->code(), ErrorCode::refused);
    EXPECT_EQ(d.machine->last_error()->reason(), row.reason);
    EXPECT_GE(d.wait(), d.policy.refusal_pause);
  }
}

TEST(ParticipantPrivacy, GoesFromTrainingThroughTheSessionToACountedRound) {
  Dialogue d;
  d.privacy = rules_of(SecurityLevel::active);
  d.reach(Phase::training);
  d.tell(TrainingEnded{{}});
  for (int exchange = 0; exchange < 5; ++exchange) {
    ASSERT_TRUE(d.is_next<DoAggregate>());
    EXPECT_EQ(std::get<DoAggregate>(d.next()).plan, d.plan());
    EXPECT_EQ(std::get<DoAggregate>(d.next()).assignment.round, d.assignment().round);
    d.tell(AggregationAnswered{AggregationStep::went_on});
    d.restart();
    EXPECT_EQ(d.state().rounds_done, 0u);
  }
  d.tell(AggregationAnswered{AggregationStep::done});
  EXPECT_EQ(d.state().rounds_done, 1u);
  EXPECT_FALSE(d.state().assignment);
  EXPECT_TRUE(d.state().plan.empty());
  EXPECT_TRUE(d.is_next<DoCheckIn>());
}

TEST(ParticipantPrivacy, WaitsInsideTheWindowAndNoLongerThanTheRound) {
  Dialogue d;
  d.reach(Phase::aggregating);
  d.tell(AggregationAnswered{RetryWindow{1'000, 3'000, {}}});
  EXPECT_GE(d.wait(), Millis(1'000));
  EXPECT_LE(d.wait(), Millis(3'000));
  EXPECT_FALSE(d.machine->last_error()) << "to be told to wait is no failure";
  EXPECT_EQ(d.state().failures, 0u);
  d.skip_wait();
  ASSERT_TRUE(d.is_next<DoAggregate>());
  d.now = d.state().assignment->not_after + Millis(1);
  d.tell(AggregationAnswered{RetryWindow{1'000, 3'000, {}}});
  EXPECT_FALSE(d.state().assignment);
  EXPECT_EQ(d.machine->last_error()->code(), ErrorCode::ticket_expired);
}

TEST(ParticipantPrivacy, KeepsItsFailuresUntilTheSessionIsDone) {
  Dialogue d;
  d.reach(Phase::aggregating);
  d.tell(d.failed_answer(Error(ErrorCode::unavailable, "down")));
  d.skip_wait();
  d.tell(AggregationAnswered{AggregationStep::went_on});
  EXPECT_EQ(d.state().failures, 1u);
  d.tell(AggregationAnswered{AggregationStep::done});
  EXPECT_EQ(d.state().failures, 0u);
}

TEST(ParticipantPrivacy, NeverTrainsTwiceForOneSession) {
  Dialogue d;
  d.reach(Phase::aggregating);
  ParticipantState state = d.state();
  state.plan.back() ^= 1;
  const ParticipantMachine damaged({}, state);
  EXPECT_TRUE(std::holds_alternative<DoCheckIn>(damaged.next(state.wait_until)));
  EXPECT_FALSE(damaged.state().assignment);

  ParticipantPolicy stricter;  // the app was updated in between
  stricter.privacy.security_level_min = SecurityLevel::active;
  const ParticipantMachine updated(stricter, d.state());
  EXPECT_TRUE(std::holds_alternative<DoCheckIn>(updated.next(state.wait_until)));
  ASSERT_TRUE(updated.last_error());
  EXPECT_EQ(updated.last_error()->reason(), "security_level");
}

// The app comes back with another policy at every point of a round: from there on nothing leaves that it refuses.
TEST(ParticipantPrivacy, JudgesAgainInEveryPhaseThatCanLeadToAnUpload) {
  for (const Phase phase : {Phase::assigned, Phase::planned, Phase::training, Phase::trained, Phase::aggregating}) {
    SCOPED_TRACE(static_cast<int>(phase));
    Dialogue d;
    d.reach(phase);
    d.policy.privacy.security_level_min = SecurityLevel::active;
    d.restart();
    for (int steps = 0; steps < 4 && d.state().assignment; ++steps) {
      ASSERT_FALSE(d.is_next<DoTrain>() || d.is_next<DoUpload>() || d.is_next<DoAggregate>());
      d.tell(d.good_answer());
    }
    EXPECT_FALSE(d.state().assignment);
    ASSERT_TRUE(d.machine->last_error());
    EXPECT_EQ(d.machine->last_error()->reason(), "security_level");
    EXPECT_TRUE(d.machine->take_refused_plan()) << "the app hears of it";
    EXPECT_EQ(d.state().refusal, (Refusal{d.round, "security_level"})) << "and so does the server";
    d.skip_wait();
    EXPECT_TRUE(d.is_next<DoCheckIn>());
  }
}

// The same server, the same job: what was promised once is promised for good.
TEST(ParticipantPrivacy, DoesNotGoDownInAJob) {
  Dialogue d;
  d.privacy = rules_of(SecurityLevel::active);
  d.reach(Phase::aggregating);
  d.tell(d.good_answer());
  d.restart();
  for (const PrivacyRules& less : {PrivacyRules{}, rules_of(SecurityLevel::masked)}) {
    d.privacy = less;
    d.reach(Phase::assigned);
    d.tell(d.good_answer());
    EXPECT_EQ(d.state().phase, Phase::idle);
    EXPECT_EQ(d.machine->last_error()->reason(), "security_level");
    EXPECT_TRUE(d.machine->take_refused_plan());
  }
  d.privacy = rules_of(SecurityLevel::active_dp);
  d.reach(Phase::planned);
}

TEST(ParticipantPrivacy, DropsAPlainUpdateWhosePlanIsNotThereToBeJudged) {
  Dialogue d;
  d.reach(Phase::trained);
  ParticipantState state = d.state();
  state.plan.clear();  // as an SDK before 0.3 kept it
  const ParticipantMachine machine({}, state);
  EXPECT_FALSE(machine.state().assignment);
  ASSERT_TRUE(machine.last_error());
  EXPECT_THAT(machine.last_error()->message(), testing::HasSubstr("was not kept"));
}

}  // namespace
}  // namespace coterie::test
