// What rounds cost a device, in a whole session: counted before an update can leave, once, through crashes.
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

using Phase = ParticipantPhase;

Dialogue private_dialogue(double epsilon_total_max = 0) {
  ParticipantPolicy policy;
  policy.privacy.epsilon_total_max = epsilon_total_max;
  Dialogue d(1, policy);
  d.privacy = rules_of(SecurityLevel::active_dp);
  d.privacy.epsilon_round = 0.5;  // more than it is
  d.privacy.delta = 1e-6;
  return d;
}

void next_round(Dialogue& d) {
  d.round.round = RoundId(d.round.round.value() + 1);
  d.version = ModelVersion(d.version.value() + 1);
}

TEST(ParticipantSpending, IsInTheStateBeforeTheUpdateCanLeave) {
  Dialogue d = private_dialogue();
  d.reach(Phase::training);
  EXPECT_EQ(d.state().spent, DeviceSpent{});
  d.tell(TrainingEnded{{}});
  ASSERT_TRUE(d.is_next<DoAggregate>());
  EXPECT_EQ(d.state().spent, (DeviceSpent{0.5, 1e-6, d.round}));
}

// Killed between any two steps, and once more: what is spent is that of a calm life.
TEST(ParticipantSpending, IsCountedOnceThroughCrashes) {
  const auto live = [](uint32_t kills) {
    Dialogue d = private_dialogue();
    for (int step = 0; d.state().rounds_done == 0 && step < 40; ++step) {
      if (kills >> step & 1) d.restart();
      if (kills >> step & 2) d.restart();
      d.tell(d.good_answer());
    }
    return d.state();
  };
  for (uint32_t kills = 0; kills < 1u << 7; ++kills) {
    const ParticipantState end = live(kills);
    EXPECT_EQ(end.rounds_done, 1u) << kills;
    EXPECT_EQ(end.spent.epsilon, 0.5) << kills;
    EXPECT_EQ(end.spent.delta, 1e-6) << kills;
  }
}

TEST(ParticipantSpending, StaysWhenTheSessionIsLost) {
  Dialogue d = private_dialogue();
  d.reach(Phase::aggregating);
  d.restart();
  d.tell(d.failed_answer(Error(ErrorCode::round_closed, "closed")));
  EXPECT_FALSE(d.state().assignment);
  EXPECT_EQ(d.state().spent.epsilon, 0.5);

  d.reach(Phase::assigned);  // the same attempt again
  d.tell(d.good_answer());
  EXPECT_EQ(d.state().phase, Phase::idle);
  EXPECT_EQ(d.machine->last_error()->reason(), "separation");
  EXPECT_EQ(d.state().spent.epsilon, 0.5);

  d.round.attempt = Attempt(2);
  d.reach(Phase::aggregating);
  EXPECT_EQ(d.state().spent.epsilon, 1.0) << "another attempt is another update";
}

TEST(ParticipantSpending, IsNoneIfTheTrainingFailedOrCameTooLate) {
  Dialogue d = private_dialogue();
  d.reach(Phase::training);
  d.tell(TrainingEnded{Error(ErrorCode::unavailable, "no data")});
  EXPECT_EQ(d.state().spent, DeviceSpent{});
  d.reach(Phase::training);
  d.now = d.state().assignment->not_after + Millis(1);
  d.tell(TrainingEnded{{}});
  EXPECT_FALSE(d.state().assignment);
  EXPECT_EQ(d.state().spent, DeviceSpent{}) << "nothing is sent any more";
}

TEST(ParticipantSpending, EndsPartsAtTheLimitAndSaysSo) {
  Dialogue d = private_dialogue(1.2);
  for (int part = 0; part < 2; ++part) {
    d.reach(Phase::aggregating);
    d.tell(d.good_answer());
    next_round(d);
  }
  EXPECT_EQ(d.state().rounds_done, 2u);
  EXPECT_FALSE(d.machine->take_refused_plan());
  d.restart();
  d.reach(Phase::assigned);
  d.tell(d.good_answer());
  ASSERT_EQ(d.state().phase, Phase::idle);
  EXPECT_EQ(d.machine->last_error()->code(), ErrorCode::refused);
  EXPECT_EQ(d.machine->last_error()->reason(), "epsilon_total");
  const auto refused = d.machine->take_refused_plan();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->error.reason(), "epsilon_total");
  EXPECT_EQ(refused->job, JobId("job"));
  EXPECT_EQ(refused->round, d.round);
  EXPECT_EQ(refused->promised, d.privacy);
  EXPECT_EQ(refused->spent.epsilon, 1.0);
  EXPECT_FALSE(d.machine->take_refused_plan()) << "once";
}

TEST(ParticipantSpending, SeparatesParts) {
  ParticipantPolicy policy;
  policy.privacy.separation_min = 2;
  Dialogue d(1, policy);
  d.reach(Phase::trained);
  d.tell(d.good_answer());
  next_round(d);
  d.reach(Phase::assigned);
  d.tell(d.good_answer());
  EXPECT_EQ(d.state().phase, Phase::idle);
  EXPECT_EQ(d.machine->last_error()->reason(), "separation");
  d.restart();
  next_round(d);
  d.reach(Phase::trained);
  EXPECT_EQ(d.state().took_part.at(JobId("job")), d.version);
}

// ---- What the server hears

TEST(ParticipantRefusal, GoesWithTheNextCheckInUntilThatIsAnswered) {
  ParticipantPolicy policy;
  policy.privacy.security_level_min = SecurityLevel::masked;
  Dialogue d(1, policy);
  d.reach(Phase::idle);
  EXPECT_FALSE(std::get<DoCheckIn>(d.next()).refusal);
  d.reach(Phase::assigned);
  d.tell(d.good_answer());
  d.skip_wait();
  const Refusal refusal{d.round, "security_level"};
  EXPECT_EQ(std::get<DoCheckIn>(d.next()).refusal, refusal);
  d.tell(d.failed_answer(Error(ErrorCode::unavailable, "lost")));
  d.restart();
  d.skip_wait();
  EXPECT_EQ(std::get<DoCheckIn>(d.next()).refusal, refusal) << "perhaps nobody heard it";
  d.tell(CheckInAnswered{RetryWindow{0, 0, {}}});
  d.restart();
  d.skip_wait();
  EXPECT_FALSE(std::get<DoCheckIn>(d.next()).refusal);
}

TEST(ParticipantRefusal, OfAPolicyThatBecameStricterIsToldOnce) {
  Dialogue d;
  d.reach(Phase::training);
  d.policy.privacy.security_level_min = SecurityLevel::masked;
  d.restart();
  EXPECT_FALSE(d.machine->take_refused_plan());
  ASSERT_TRUE(d.is_next<DoFetchPlan>());
  d.tell(d.good_answer());
  EXPECT_TRUE(d.machine->take_refused_plan());

  Dialogue aggregating;
  aggregating.reach(Phase::aggregating);
  aggregating.policy.privacy.security_level_min = SecurityLevel::active;
  aggregating.restart();
  EXPECT_TRUE(aggregating.machine->take_refused_plan());
  EXPECT_EQ(aggregating.state().refusal, (Refusal{aggregating.round, "security_level"}));
}

TEST(ParticipantRefusal, OfWhatIsNotThePolicysIsNobodysToHear) {
  Dialogue d;
  d.reach(Phase::assigned);
  d.tell(PlanFetched{Bytes(100, 1)});
  EXPECT_EQ(d.state().phase, Phase::idle);
  EXPECT_FALSE(d.state().refusal);
  EXPECT_FALSE(d.machine->take_refused_plan());
}

}  // namespace
}  // namespace coterie::test
