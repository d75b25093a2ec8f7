// Buffered rounds: an update that its round no longer took joins a later one, once, and is never thrown away lightly.
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

using Phase = ParticipantPhase;

const Error kOver(ErrorCode::ticket_expired, "over, and not counted");
const Error kClosed(ErrorCode::round_closed, "closed");

// A device that has trained by a plan with buffered rounds.
Dialogue trained(uint32_t versions_max = 3) {
  Dialogue d;
  d.staleness = {.versions_max = versions_max, .exponent = 0.5f};
  d.version = ModelVersion(4);
  d.reach(Phase::trained);
  return d;
}

void go_on(Dialogue& d, uint64_t versions) {
  d.version = ModelVersion(d.version.value() + versions);
  d.round = {RoundId(d.round.round.value() + 1), Attempt(1)};
}

TEST(BufferedRound, TakesAFreshUpdateAsItIs) {
  Dialogue d = trained();
  EXPECT_FALSE(std::get<DoUpload>(d.next()).weight);
  d.tell(d.good_answer());
  EXPECT_EQ(d.state().rounds_done, 1u);
}

TEST(BufferedRound, TakesALateUpdateByItsWeight) {
  Dialogue d = trained();
  const Assignment own = *d.state().assignment;
  d.tell(d.failed_answer(kOver));
  const auto asked = std::get<DoCheckIn>(d.next());
  EXPECT_EQ(asked.held, own.ticket) << "the server reckons by what it has sealed";
  go_on(d, 3);
  d.tell(CheckInAnswered{d.assignment()});
  const auto upload = std::get<DoUpload>(d.next());
  EXPECT_EQ(upload.assignment.round, d.round);
  EXPECT_EQ(upload.weight, 0.5f) << "(1 + 3) ^ -0.5";
  EXPECT_EQ(d.state().assignment->round, own.round) << "it was trained for that one";
  d.tell(d.good_answer());
  EXPECT_EQ(d.state().rounds_done, 1u);
  EXPECT_EQ(d.state().took_part.at(d.job), d.version);
  EXPECT_FALSE(d.state().is_late());
}

// Perhaps it is counted: joining a later round would count it twice.
TEST(BufferedRound, ThatNobodyRemembersIsGivenUp) {
  Dialogue d = trained();
  d.tell(d.failed_answer(Error(ErrorCode::not_found, "forgotten")));
  EXPECT_EQ(d.state().phase, Phase::idle);
  EXPECT_FALSE(d.state().is_late());
}

// An earlier try may be in a batch that is yet to be committed.
TEST(BufferedRound, IsNotLeftWhileItMayCountTheUpdate) {
  Dialogue d = trained();
  for (int i = 0; i < 3; ++i) {
    d.tell(d.failed_answer(kClosed, RetryWindow{0, 500, {}}));
    d.skip_wait();
    EXPECT_TRUE(d.is_next<DoUpload>());
    EXPECT_FALSE(d.state().is_late());
  }
}

TEST(BufferedRound, IsLeftForTheNextAgainAndAgain) {
  Dialogue d = trained();
  d.tell(d.failed_answer(kOver));
  for (const float weight : {0.70710678f, 0.57735027f, 0.5f}) {
    go_on(d, 1);
    d.tell(CheckInAnswered{d.assignment()});
    EXPECT_FLOAT_EQ(*std::get<DoUpload>(d.next()).weight, weight);
    d.tell(d.failed_answer(kOver));
    EXPECT_TRUE(d.is_next<DoCheckIn>());
  }
}

TEST(BufferedRound, OutlivesTheDeviceWhereverItIs) {
  Dialogue d = trained();
  d.tell(d.failed_answer(kOver));
  d.restart();
  EXPECT_FALSE(std::get<DoCheckIn>(d.next()).held.empty());
  go_on(d, 1);
  d.tell(CheckInAnswered{d.assignment()});
  d.restart();
  EXPECT_EQ(std::get<DoUpload>(d.next()).assignment.round, d.round);
  EXPECT_EQ(d.state().joined->model_version, d.version);
}

// A file of somebody else's making breaks nothing.
TEST(BufferedRound, OfAStateThatDoesNotFitIsDropped) {
  Dialogue d = trained();
  ParticipantState state = d.state();
  state.late_since = d.now;
  state.joined = d.assignment();
  state.joined->model_version = ModelVersion(1);
  const ParticipantMachine older(d.policy, state);
  older.check();
  EXPECT_TRUE(older.state().is_late());
  EXPECT_FALSE(older.state().joined);
  Dialogue synchronous;
  synchronous.reach(Phase::trained);
  state = synchronous.state();
  state.late_since = synchronous.now;
  const ParticipantMachine never(synchronous.policy, state);
  never.check();
  EXPECT_FALSE(never.state().is_late());
}

// The same as the desk's conclusion from the ticket: new work, and not a round to join.
TEST(BufferedRound, GivesUpAnUpdateThatIsTooLate) {
  Dialogue d = trained(3);
  d.tell(d.failed_answer(kOver));
  go_on(d, 4);
  d.tell(CheckInAnswered{d.assignment()});
  EXPECT_TRUE(d.is_next<DoFetchPlan>());
  EXPECT_EQ(d.state().assignment->round, d.round);
  EXPECT_FALSE(d.state().is_late());
}

TEST(BufferedRound, KeepsAnUpdateThroughFailuresOfTheCheckIn) {
  Dialogue d = trained();
  d.tell(d.failed_answer(kOver));
  for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::round_closed, ErrorCode::unauthenticated}) {
    d.tell(CheckInAnswered{Failure{Error(code, "no"), {}}});
    d.skip_wait();
    EXPECT_FALSE(std::get<DoCheckIn>(d.next()).held.empty());
  }
  d.tell(CheckInAnswered{RetryWindow{10, 20, {}}});
  d.skip_wait();
  EXPECT_FALSE(std::get<DoCheckIn>(d.next()).held.empty());
}

TEST(BufferedRound, IsWaitedForAsLongAsItsJobMayRest) {
  Dialogue d = trained();
  d.tell(d.failed_answer(kOver));
  d.now = d.now + kHeldMax + Millis(1);
  d.tell(CheckInAnswered{RetryWindow{10, 20, {}}});
  EXPECT_FALSE(d.state().assignment);
}

// A phone that trained in the evening and is charged at noon.
TEST(BufferedRound, IsJoinedHoweverLongTheDeviceSlept) {
  Dialogue d = trained();
  d.tell(d.failed_answer(kOver));
  d.now = d.now + 50 * kHeldMax;
  go_on(d, 1);
  d.tell(CheckInAnswered{d.assignment()});
  EXPECT_EQ(std::get<DoUpload>(d.next()).assignment.round, d.round);
}

TEST(BufferedRound, IsNotWaitedForWithATicketThatTheServerDoesNotKnow) {
  Dialogue d = trained();
  d.tell(d.failed_answer(kOver));
  d.tell(d.failed_answer(Error(ErrorCode::not_found, "no ticket of this server's")));
  EXPECT_FALSE(d.state().assignment);
  d.skip_wait();
  EXPECT_TRUE(std::get<DoCheckIn>(d.next()).held.empty());
}

// A server that never says what became of its round has no device for ever.
TEST(BufferedRound, KeepsAnUpdateForADayAtMost) {
  Dialogue d = trained();
  const WallTime end = d.state().assignment->not_after + kKeptMax;
  d.now = end;
  d.tell(d.failed_answer(kClosed));
  EXPECT_TRUE(d.state().assignment);
  d.now = end + Millis(1);
  d.tell(UploadAnswered{Failure{kClosed, {}}});
  EXPECT_FALSE(d.state().assignment);
  EXPECT_EQ(d.state().phase, Phase::idle);
}

TEST(BufferedRound, HasNoEndThatADeviceReadsFromItsClock) {
  Dialogue d = trained();
  d.now = d.now + 2 * kRoundTime;
  d.tell(d.failed_answer(Error(ErrorCode::unavailable, "busy")));
  d.skip_wait();
  EXPECT_TRUE(d.is_next<DoUpload>());
}

TEST(BufferedRound, OfAServerThatSignsForAnotherIsNotJoined) {
  Dialogue d = trained();
  d.tell(d.failed_answer(kOver));
  go_on(d, 1);
  Assignment forged = d.assignment();
  forged.signature[0] ^= 1;
  d.tell(CheckInAnswered{forged});
  EXPECT_FALSE(d.state().assignment);
  EXPECT_FALSE(d.state().joined);
}

// ---- With secure aggregation

AggregationAnswered left_out(ErrorCode code) {
  return {.outcome = Failure{Error(code, "without this device"), {}}, .is_left_out = true};
}

// A device that has trained, and whose session is under way.
Dialogue aggregating(SecurityLevel level = SecurityLevel::masked) {
  Dialogue d;
  d.staleness = {.versions_max = 3, .exponent = 0.5f};
  d.privacy = rules_of(level);
  d.reach(Phase::aggregating);
  return d;
}

TEST(MaskedBuffer, TakesALateUpdateIntoASessionOfItsOwn) {
  Dialogue d = aggregating();
  const Assignment own = *d.state().assignment;
  EXPECT_FALSE(std::get<DoAggregate>(d.next()).weight);
  d.tell(left_out(ErrorCode::round_closed));
  d.skip_wait();
  EXPECT_EQ(std::get<DoCheckIn>(d.next()).held, own.ticket);
  go_on(d, 3);
  d.tell(CheckInAnswered{d.assignment()});
  const auto session = std::get<DoAggregate>(d.next());
  EXPECT_EQ(session.assignment.round, d.round);
  EXPECT_EQ(session.weight, 0.5f);
  EXPECT_EQ(d.state().assignment->model, own.model) << "of which openings are counted";
  d.tell(AggregationAnswered{AggregationStep::opens});
  ASSERT_EQ(d.state().openings.size(), 1u);
  EXPECT_EQ(d.state().openings[0].model, own.model);
  d.tell(AggregationAnswered{AggregationStep::done});
  EXPECT_EQ(d.state().rounds_done, 1u);
  EXPECT_EQ(d.state().took_part.at(d.job), d.version);
}

// The ticket names the session that was left, so that the server does not ask the device into it again.
TEST(MaskedBuffer, ShowsTheTicketOfTheSessionThatItLeftLast) {
  Dialogue d = aggregating();
  d.tell(left_out(ErrorCode::round_closed));
  go_on(d, 1);
  Assignment later = d.assignment();
  later.ticket = Bytes(40, 8);
  d.skip_wait();
  d.tell(CheckInAnswered{later});
  d.tell(left_out(ErrorCode::round_closed));
  d.skip_wait();
  EXPECT_EQ(std::get<DoCheckIn>(d.next()).held, later.ticket);
  d.restart();
  EXPECT_EQ(std::get<DoCheckIn>(d.next()).held, later.ticket);
}

// Its masked update may have left: the server is asked until it says what became of it.
TEST(MaskedBuffer, IsNotLeftWhileItMayCountTheUpdate) {
  Dialogue d = aggregating();
  for (int i = 0; i < 3; ++i) {
    d.tell(d.failed_answer(kClosed));
    d.skip_wait();
    EXPECT_TRUE(d.is_next<DoAggregate>());
    EXPECT_FALSE(d.state().is_late());
  }
  d.tell(left_out(ErrorCode::ticket_expired));
  EXPECT_TRUE(d.state().is_late());
}

TEST(MaskedBuffer, IsNotLeftBehindAnOpening) {
  Dialogue d = aggregating();
  d.tell(AggregationAnswered{AggregationStep::opens});
  d.tell(left_out(ErrorCode::round_closed));
  EXPECT_FALSE(d.state().is_late()) << "a sum was opened with the update";
  EXPECT_FALSE(d.state().assignment);
}

// Whatever becomes of the session's log: no other round takes the update while this one may count it.
TEST(MaskedBuffer, RemembersThatItsMaskedUpdateMayHaveLeft) {
  Dialogue d = aggregating();
  EXPECT_FALSE(d.state().has_masked);
  d.tell(AggregationAnswered{AggregationStep::masks});
  d.restart();
  EXPECT_TRUE(d.state().has_masked);
  d.tell(d.failed_answer(kClosed));
  EXPECT_TRUE(d.state().has_masked);
  d.skip_wait();
  d.tell(left_out(ErrorCode::ticket_expired));
  EXPECT_FALSE(d.state().has_masked) << "no sum has it";
  EXPECT_TRUE(d.state().is_late());
  d.skip_wait();
  go_on(d, 1);
  d.tell(CheckInAnswered{d.assignment()});
  EXPECT_FALSE(d.state().has_masked) << "the next session is another";
  d.tell(AggregationAnswered{AggregationStep::masks});
  d.tell(AggregationAnswered{Failure{Error(ErrorCode::ticket_expired, "its log is gone"), {}}});
  EXPECT_FALSE(d.state().assignment) << "it may be counted: given up";
  EXPECT_FALSE(d.state().has_masked);
}

// A state of somebody else's making: an update that may have left waits for no other round.
TEST(MaskedBuffer, OfAStateThatHasMaskedAwaitsNoRound) {
  Dialogue d = aggregating();
  ParticipantState state = d.state();
  state.late_since = d.now;
  state.has_masked = true;
  const ParticipantMachine machine(d.policy, state);
  machine.check();
  EXPECT_FALSE(machine.state().is_late());
  EXPECT_TRUE(machine.state().has_masked);
}

// One bit in another way of rounding would be another update behind the same ticket.
TEST(MaskedBuffer, KeepsItsWeight) {
  Dialogue d = aggregating();
  d.tell(left_out(ErrorCode::round_closed));
  d.skip_wait();
  go_on(d, 3);
  d.tell(CheckInAnswered{d.assignment()});
  EXPECT_EQ(d.state().joined_weight, 0.5f);
  ParticipantState state = d.state();
  state.joined_weight = 0.4375f;  // as another libm had it
  EXPECT_EQ(std::get<DoAggregate>(ParticipantMachine(d.policy, state).next(d.now)).weight, 0.4375f);
  state.joined_weight = 0;  // of a version that did not keep it
  const ParticipantMachine older(d.policy, state);
  older.check();
  EXPECT_EQ(std::get<DoAggregate>(older.next(d.now)).weight, 0.5f);
}

TEST(MaskedBuffer, IsAskedEverMoreRarely) {
  Dialogue d = aggregating();
  Millis longest{0};
  for (int i = 0; i < 20; ++i) {
    d.tell(left_out(ErrorCode::round_closed));
    longest = std::max(longest, d.wait());
    d.skip_wait();
    d.tell(CheckInAnswered{d.assignment()});
    ASSERT_TRUE(d.is_next<DoAggregate>());
  }
  EXPECT_GT(longest, Millis(10'000)) << "of a server that gives the same round again and again";
}

TEST(MaskedBuffer, OutlivesTheDeviceWhereverItIs) {
  Dialogue d = aggregating();
  d.tell(left_out(ErrorCode::conflict));
  d.skip_wait();
  d.restart();
  EXPECT_FALSE(std::get<DoCheckIn>(d.next()).held.empty());
  go_on(d, 1);
  d.tell(CheckInAnswered{d.assignment()});
  d.restart();
  EXPECT_EQ(std::get<DoAggregate>(d.next()).assignment.round, d.round);
}

// A state of a phase that this plan does not have: somebody else's, or of a disk's making.
TEST(MaskedBuffer, SendsNothingInTheClear) {
  Dialogue d = aggregating();
  ParticipantState state = d.state();
  state.phase = Phase::trained;
  const ParticipantMachine machine(d.policy, state);
  machine.check();
  EXPECT_TRUE(std::holds_alternative<DoAggregate>(machine.next(d.now)));
}

TEST(MaskedBuffer, OfASynchronousPlanIsLostWithItsSession) {
  Dialogue d;
  d.reach(Phase::aggregating);
  d.tell(left_out(ErrorCode::round_closed));
  EXPECT_FALSE(d.state().assignment);
}

TEST(SynchronousRound, IsLostWithItsTicket) {
  Dialogue d;
  d.reach(Phase::trained);
  d.tell(d.failed_answer(kOver));
  EXPECT_FALSE(d.state().assignment);
}

}  // namespace
}  // namespace coterie::test
