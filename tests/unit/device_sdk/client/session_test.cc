// A participant's session when all goes well, and answers that come when nobody asked.
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

TEST(ParticipantSession, GoesFromEnrollmentToAnAcceptedUpdateAndBackToCheckingIn) {
  Dialogue d;
  ASSERT_TRUE(d.is_next<DoEnroll>());
  d.tell(EnrollAnswered{d.identity()});
  EXPECT_EQ(d.state().device, d.identity().device);
  EXPECT_EQ(d.state().keys, PinnedKeys{d.signer->public_key()});

  ASSERT_TRUE(d.is_next<DoCheckIn>());
  EXPECT_EQ(std::get<DoCheckIn>(d.next()).population, Population("default"));
  EXPECT_EQ(std::get<DoCheckIn>(d.next()).hold, d.policy.checkin_hold);
  const Assignment assignment = d.assignment();
  d.tell(CheckInAnswered{assignment});

  ASSERT_TRUE(d.is_next<DoFetchPlan>());
  EXPECT_EQ(std::get<DoFetchPlan>(d.next()).plan, assignment.plan);
  EXPECT_EQ(std::get<DoFetchPlan>(d.next()).bytes_max, assignment.plan_bytes);
  d.tell(PlanFetched{encode(d.plan())});

  ASSERT_TRUE(d.is_next<DoFetchModel>());
  EXPECT_EQ(std::get<DoFetchModel>(d.next()).model, assignment.model);
  EXPECT_EQ(std::get<DoFetchModel>(d.next()).bytes, assignment.model_bytes);
  d.tell(ModelFetched{assignment.model});

  ASSERT_TRUE(d.is_next<DoTrain>());
  EXPECT_EQ(std::get<DoTrain>(d.next()).plan, d.plan());
  EXPECT_EQ(std::get<DoTrain>(d.next()).assignment, assignment);
  d.tell(TrainingEnded{{}});

  ASSERT_TRUE(d.is_next<DoUpload>());
  EXPECT_EQ(std::get<DoUpload>(d.next()).assignment, assignment);
  EXPECT_EQ(d.state().rounds_done, 0u);
  d.tell(UploadAnswered{Receipt{assignment.round, Bytes(32, 1)}});

  EXPECT_TRUE(d.is_next<DoCheckIn>());
  EXPECT_EQ(d.state().rounds_done, 1u);
  EXPECT_FALSE(d.state().assignment);
  EXPECT_FALSE(d.machine->last_error());
}

TEST(ParticipantSession, WaitsInsideTheWindowTheServerGivesAtCheckIn) {
  std::vector<Millis> waits;
  for (uint64_t seed = 1; seed <= 64; ++seed) {
    Dialogue d(seed);
    d.reach(ParticipantPhase::idle);
    d.tell(CheckInAnswered{RetryWindow{3'000, 9'000, "pool is full"}});
    ASSERT_TRUE(d.is_next<DoWait>());
    EXPECT_EQ(std::get<DoWait>(d.next()).until, d.state().wait_until);
    EXPECT_GE(d.wait(), Millis(3'000));
    EXPECT_LE(d.wait(), Millis(9'000));
    waits.push_back(d.wait());
    d.now = d.state().wait_until - Millis(1);
    EXPECT_TRUE(d.is_next<DoWait>());
    d.now = d.state().wait_until;
    EXPECT_TRUE(d.is_next<DoCheckIn>());
  }
  EXPECT_LT(*std::min_element(waits.begin(), waits.end()), Millis(4'000)) << "devices must spread over the window";
  EXPECT_GT(*std::max_element(waits.begin(), waits.end()), Millis(8'000));
}

TEST(ParticipantSession, AnswersTheSameUntilSomethingHappens) {
  for (const ParticipantPhase phase : kPhases) {
    Dialogue d;
    d.reach(phase);
    const size_t first = d.next().index();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(d.next().index(), first);
  }
}

TEST(ParticipantSession, IgnoresAnswersThatBelongToAnotherPhase) {
  for (const ParticipantPhase phase : kPhases) {
    for (const ParticipantPhase other : kPhases) {
      if (other == phase) continue;
      Dialogue asked;
      asked.reach(other);
      const ParticipantEvent stray = asked.good_answer();
      const ParticipantEvent stray_failure = asked.failed_answer(Error(ErrorCode::permission_denied, "stray"));
      Dialogue d;
      d.reach(phase);
      const ParticipantState before = d.state();
      d.tell(stray);
      d.tell(stray_failure);
      EXPECT_EQ(d.state(), before) << "phase " << static_cast<int>(phase) << ", answer of " << static_cast<int>(other);
      EXPECT_FALSE(d.is_next<DoStop>());
    }
  }
}

TEST(ParticipantSession, CountsADuplicateReceiptOnce) {
  Dialogue d;
  d.reach(ParticipantPhase::trained);
  const ParticipantEvent receipt = d.good_answer();
  d.restart();  // killed after the server had accepted: the same upload once more, the same receipt
  ASSERT_TRUE(d.is_next<DoUpload>());
  d.tell(receipt);
  d.tell(receipt);
  EXPECT_EQ(d.state().rounds_done, 1u);
  EXPECT_TRUE(d.is_next<DoCheckIn>());
}

}  // namespace
}  // namespace coterie::test
