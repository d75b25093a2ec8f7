// Every request failing in every way: what comes next, and how long the device stays away.
#include <gtest/gtest.h>

#include <array>

#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

using Phase = ParticipantPhase;

std::string name_of(Phase phase, ErrorCode code) {
  return "phase " + std::to_string(static_cast<int>(phase)) + ", " + std::string(traits(code).name);
}

// What must follow when a request fails with `code`, without a window, for the first time.
void check_first_failure(Phase phase, ErrorCode code) {
  Dialogue d;
  d.reach(phase);
  const Millis first = d.policy.backoff_first, pause = d.policy.refusal_pause;
  const bool has_assignment = phase >= Phase::assigned;
  const size_t action = d.next().index();
  const ParticipantState before = d.state();
  d.tell(d.failed_answer(Error(code, "the reason")));
  ASSERT_TRUE(d.machine->last_error());
  EXPECT_EQ(d.machine->last_error()->message(), "the reason");
  if (code == ErrorCode::cancelled) {
    EXPECT_EQ(d.state(), before) << "what the app cancelled is due again, at once";
    EXPECT_EQ(d.next().index(), action);
    return;
  }
  const bool revoked = code == ErrorCode::permission_denied && phase == Phase::idle;
  const RetryClass retry = traits(code).retry;
  if (revoked || (retry == RetryClass::never && phase == Phase::unenrolled)) {
    ASSERT_TRUE(d.is_next<DoStop>());
    EXPECT_EQ(std::get<DoStop>(d.next()).error.code(), code);
    d.now += Millis(1ll << 40);
    EXPECT_TRUE(d.is_next<DoStop>());
    return;
  }
  Millis least{0}, most = 2 * first;
  const bool is_enrolled = phase != Phase::unenrolled;  // an enrollment has no round that could be over
  const bool gives_up = is_enrolled && (retry == RetryClass::check_in || retry == RetryClass::never);
  if (retry == RetryClass::never) {
    least = has_assignment ? first : pause;
    most = has_assignment ? 2 * first : 2 * pause;
  }
  EXPECT_GE(d.wait(), least);
  EXPECT_LE(d.wait(), most);
  d.skip_wait();
  if (!gives_up) {
    EXPECT_EQ(d.next().index(), action) << "the same request again";
    EXPECT_EQ(d.state().assignment, before.assignment);
  } else {
    EXPECT_TRUE(d.is_next<DoCheckIn>());
    EXPECT_FALSE(d.state().assignment);
  }
}

TEST(ParticipantFailures, OfEveryRequestInEveryWayLeadToTheRightNextStep) {
  for (const Phase phase : kRequestPhases) {
    for (const ErrorTraits& row : all_error_traits()) {
      SCOPED_TRACE(name_of(phase, row.code));
      check_first_failure(phase, row.code);
    }
  }
}

TEST(ParticipantFailures, AreRepeatedInsideTheWindowThatCameWithThem) {
  for (const Phase phase : kRequestPhases) {
    for (const ErrorCode code : {ErrorCode::rate_limited, ErrorCode::overloaded, ErrorCode::unavailable}) {
      SCOPED_TRACE(name_of(phase, code));
      Dialogue d;
      d.reach(phase);
      const size_t action = d.next().index();
      d.tell(d.failed_answer(Error(code, "later"), RetryWindow{20'000, 30'000, {}}));
      EXPECT_GE(d.wait(), Millis(20'000));
      EXPECT_LE(d.wait(), Millis(30'000));
      d.skip_wait();
      EXPECT_EQ(d.next().index(), action);
    }
  }
}

TEST(ParticipantFailures, OfARoundThatIsOverWaitForTheServersWindowBeforeTheCheckIn) {
  Dialogue d;
  d.reach(Phase::trained);
  d.tell(d.failed_answer(Error(ErrorCode::round_closed, "enough"), RetryWindow{1'000, 2'000, {}}));
  EXPECT_GE(d.wait(), Millis(1'000));
  EXPECT_LE(d.wait(), Millis(2'000));
  EXPECT_FALSE(d.state().assignment);
}

TEST(ParticipantFailures, AWindowWithoutWidthIsNoWindow) {
  Dialogue d;
  d.reach(Phase::idle);
  d.tell(d.failed_answer(Error(ErrorCode::overloaded, "busy"), RetryWindow{0, 0, {}}));
  EXPECT_LE(d.wait(), 2 * d.policy.backoff_first);
  d.skip_wait();
  d.tell(CheckInAnswered{RetryWindow{9'000, 1'000, {}}});  // max below min: never before min
  EXPECT_EQ(d.wait(), Millis(9'000));
}

TEST(ParticipantFailures, NobodySendsADeviceAwayForMoreThanADay) {
  Dialogue d;
  d.reach(Phase::idle);
  d.tell(CheckInAnswered{RetryWindow{UINT32_MAX, UINT32_MAX, {}}});
  EXPECT_EQ(d.wait(), Millis(24 * 3600 * 1000));
}

TEST(ParticipantFailures, BackOffDoublesUpToItsMaximumWithFullJitter) {
  constexpr int kFailures = 14, kSeeds = 200;
  const auto most = [](int n) { return std::min(Millis(120'000), Millis(500) * (1 << n)); };
  std::array<Millis, kFailures + 1> shortest, longest{};
  for (int n = 1; n <= kFailures; ++n) shortest[n] = most(n);
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Dialogue d(seed);
    d.reach(Phase::idle);
    d.restart();  // what is random goes on, and no session of hundreds is replayed
    for (int n = 1; n <= kFailures; ++n) {
      d.skip_wait();
      d.tell(d.failed_answer(Error(ErrorCode::timed_out, "silence")));
      EXPECT_LE(d.wait(), most(n));
      shortest[n] = std::min(shortest[n], d.wait());
      longest[n] = std::max(longest[n], d.wait());
    }
  }
  for (int n = 1; n <= kFailures; ++n) {
    EXPECT_LT(shortest[n], most(n) / 10) << n;
    EXPECT_GT(longest[n], most(n) * 9 / 10) << n;
  }
}

TEST(ParticipantFailures, AddUpOverAssignmentsThatNeverWorkAndEndWithOneThatDoes) {
  Dialogue d;
  Millis longest{0};
  for (int n = 1; n <= 10; ++n) {
    d.reach(Phase::training);
    d.tell(TrainingEnded{Error(ErrorCode::invalid_argument, "training diverged")});
    EXPECT_FALSE(d.state().assignment);
    EXPECT_GE(d.wait(), d.policy.backoff_first);
    EXPECT_LE(d.wait(), std::min(d.policy.backoff_max, d.policy.backoff_first * (1 << n)));
    longest = std::max(longest, d.wait());
  }
  EXPECT_GT(longest, Millis(10'000)) << "a job that always diverges must not keep devices busy";
  d.reach(Phase::trained);
  d.tell(d.good_answer());
  EXPECT_EQ(d.state().failures, 0u);
}

TEST(ParticipantFailures, AreForgottenWhenTheServerSendsTheDeviceAwayInGoodOrder) {
  Dialogue d;
  d.reach(Phase::idle);
  d.tell(d.failed_answer(Error(ErrorCode::unavailable, "down")));
  d.skip_wait();
  d.tell(CheckInAnswered{RetryWindow{1'000, 2'000, {}}});
  EXPECT_EQ(d.state().failures, 0u);
}

TEST(ParticipantFailures, OfEnrollmentEndInAStopAfterSomeTries) {
  Dialogue d;
  for (uint32_t i = 0; i < d.policy.enroll_failures_max; ++i) {
    d.skip_wait();
    ASSERT_TRUE(d.is_next<DoEnroll>()) << i;
    d.tell(d.failed_answer(Error(ErrorCode::unavailable, "no route")));
  }
  d.skip_wait();
  d.tell(d.failed_answer(Error(ErrorCode::unavailable, "no route")));
  EXPECT_TRUE(d.is_next<DoStop>());
}

TEST(ParticipantFailures, OfEnrollmentAtAServerThatIsBusyAndSaysWhenDoNotEndInAStop) {
  Dialogue d;
  Failure busy{Error(ErrorCode::overloaded, "busy"), RetryWindow{1'000, 2'000, {}}};
  for (uint32_t i = 0; i < 3 * d.policy.enroll_failures_max; ++i) {
    d.skip_wait();
    ASSERT_TRUE(d.is_next<DoEnroll>()) << i;
    d.tell(EnrollAnswered{busy});
  }
  d.skip_wait();
  EXPECT_TRUE(d.is_next<DoEnroll>());
}

TEST(ParticipantFailures, ADeviceThatIsRevokedStopsAndAsksAgainOnlyWhenItIsOpenedAgain) {
  Dialogue d;
  d.reach(Phase::idle);
  d.tell(d.failed_answer(Error(ErrorCode::permission_denied, "revoked")));
  ASSERT_TRUE(d.is_next<DoStop>());
  d.tell(CheckInAnswered{d.assignment()});
  EXPECT_TRUE(d.is_next<DoStop>());
  d.restart();
  EXPECT_TRUE(d.is_next<DoCheckIn>());
}

TEST(ParticipantFailures, NoStepOutlivesTheAssignment) {
  for (const Phase phase : {Phase::assigned, Phase::planned, Phase::training}) {
    Dialogue d;
    d.reach(phase);
    const ParticipantEvent late = d.good_answer();
    d.now = d.state().assignment->not_after + Millis(1);
    d.tell(late);
    EXPECT_FALSE(d.state().assignment) << static_cast<int>(phase);
    ASSERT_TRUE(d.machine->last_error());
    EXPECT_EQ(d.machine->last_error()->code(), ErrorCode::ticket_expired);
    d.skip_wait();
    EXPECT_TRUE(d.is_next<DoCheckIn>());
  }
  Dialogue d;  // a receipt counts however late it is
  d.reach(Phase::trained);
  const ParticipantEvent receipt = d.good_answer();
  d.now = d.state().assignment->not_after + Millis(1);
  d.tell(receipt);
  EXPECT_EQ(d.state().rounds_done, 1u);
}

}  // namespace
}  // namespace coterie::test
