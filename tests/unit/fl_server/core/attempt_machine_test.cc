// What an attempt's cohorts come to, decided: each test is a script, which is run again with a failure at each step.
#include "fl_server/core/attempt_machine.h"

#include <gmock/gmock.h>

#include "tests/unit/fl_server/core/attempt_script.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kStartedAnew = "lost: the server was started anew while devices aggregated";

// ---- Begin

TEST(AttemptMachine, GoesFromAdvertsToItsSum) {
  AttemptScript attempt;
  EXPECT_FALSE(attempt.machine().is_aggregating());
  EXPECT_THAT(attempt.begin(), IsEmpty());
  EXPECT_TRUE(attempt.machine().is_aggregating());
  EXPECT_THAT(attempt.advertise(0), ElementsAre("take 0"));
  for (uint32_t i = 1; i < 4; ++i) attempt.advertise(i);
  attempt.share_all(3);
  EXPECT_THAT(attempt.share(3), ElementsAre("take 3", "due 4"));
  attempt.mask_all(3);
  EXPECT_THAT(attempt.mask(3), ElementsAre("take 3"));
  attempt.accept_all(3);
  EXPECT_THAT(attempt.accept(3), ElementsAre("expected 4"));
  EXPECT_EQ(attempt.wake(), std::nullopt) << "it is the round's turn";
  EXPECT_THAT(attempt.freeze(), ElementsAre("list"));
  EXPECT_THAT(attempt.listed(), IsEmpty());
  for (uint32_t i = 0; i < 4; ++i) EXPECT_THAT(attempt.unmask(i), ElementsAre("take " + std::to_string(i)));
  EXPECT_THAT(attempt.finalize(9), ElementsAre("list for 9"));
  EXPECT_THAT(attempt.listed(9), ElementsAre("open for 9"));
  EXPECT_THAT(attempt.step(AttemptWithdrawn{}), IsEmpty());
  EXPECT_FALSE(attempt.machine().is_aggregating());
}

TEST(AttemptMachine, BeginsOnce) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise(0);
  EXPECT_THAT(attempt.begin(), IsEmpty()) << "the round was extended";
  EXPECT_THAT(attempt.begin(true), IsEmpty());
  EXPECT_THAT(attempt.ask(0, CohortQuestion::roster), IsEmpty()) << "the advert is known yet";
}

TEST(AttemptMachine, IsLostIfDevicesWereAcceptedInAnEarlierLife) {
  AttemptScript attempt;
  EXPECT_THAT(attempt.begin(true), ElementsAre(kStartedAnew));
  EXPECT_FALSE(attempt.machine().is_aggregating());
  EXPECT_THAT(attempt.advertise(0), ElementsAre("refuse 0: round_closed"));
  EXPECT_THAT(attempt.ask(0, CohortQuestion::unmask_request), ElementsAre("refuse 0: round_closed"));
  EXPECT_THAT(attempt.send_input(0, {}), ElementsAre("refuse 0: round_closed"));
  EXPECT_THAT(attempt.accept(0), IsEmpty());
  EXPECT_THAT(attempt.begin(), IsEmpty()) << "an attempt that is lost does not begin again";
}

// Devices that were in its sessions show its ticket, and are asked into it no more.
TEST(AttemptMachine, OfABufferedRoundIsLostIfItMayHaveBegunInAnEarlierLife) {
  AttemptScript attempt;
  attempt.rules_.is_resumed = true;
  EXPECT_THAT(attempt.begin(), ElementsAre(kStartedAnew));
  EXPECT_THAT(attempt.advertise(0), ElementsAre("refuse 0: round_closed"));
}

TEST(AttemptMachine, OfABufferedRoundWaitsForItsLeastHoweverLong) {
  AttemptScript attempt;
  attempt.rules_.adverts_least = 3;
  attempt.begin();
  attempt.advertise(0);
  attempt.advertise(1);
  for (int i = 0; i < 5; ++i) EXPECT_THAT(attempt.pass(kCollecting), IsEmpty());
  EXPECT_TRUE(attempt.machine().is_aggregating());
  attempt.advertise(2);
  EXPECT_THAT(attempt.ask(2, CohortQuestion::roster, Millis(0)), ElementsAre("answer 2: not yet")) << "others may come";
  attempt.pass(kCollecting);
  EXPECT_THAT(attempt.ask(2, CohortQuestion::roster), ElementsAre("answer 2: roster"));
}

TEST(AttemptMachine, IsLostIfItIsClaimedAndNeverBegan) {
  AttemptScript attempt;
  EXPECT_THAT(attempt.freeze(), IsEmpty());
  EXPECT_THAT(attempt.finalize(9), ElementsAre("list for 9"));
  EXPECT_THAT(attempt.listed(9), ElementsAre(kStartedAnew));
}

TEST(AttemptMachine, IsLostIfItsSettingsAreRefused) {
  AttemptScript attempt;
  attempt.session_.survivors_min = 1;
  const Lines lines = attempt.begin();
  EXPECT_THAT(lines, ElementsAre("note: refused", HasSubstr("lost: secure aggregation: survivors_min must be in")));
  attempt.finalize(9);
  EXPECT_THAT(attempt.listed(9), ElementsAre(lines[1])) << "the same reason is told at the claim";
}

TEST(AttemptMachine, AdvertsHaveWhatTwoPhasesLeaveOfTheTime) {
  AttemptScript attempt;
  attempt.begin();
  EXPECT_EQ(attempt.wake(), 18'000);
}

TEST(AttemptMachine, AdvertsHaveHalfOfTheTimeAtLeast) {
  AttemptScript attempt;
  attempt.rules_.cohort_phase_max = Millis(8'000);
  attempt.begin();
  EXPECT_EQ(attempt.wake(), 10'000);
}

// ---- What is told

TEST(AttemptMachine, TellsHowManyAreDueOnceAChange) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise_all();
  attempt.share_all(3);
  EXPECT_THAT(attempt.share(3), ElementsAre("take 3", "due 4"));
  attempt.mask_all(3);
  EXPECT_THAT(attempt.pass(Millis(1)), IsEmpty()) << "the same as before";
  EXPECT_THAT(attempt.pass(kPhase), ElementsAre("due 3")) << "one vanished";
  EXPECT_THAT(attempt.pass(Millis(1)), IsEmpty());
}

TEST(AttemptMachine, TellsHowManyUpdatesThereAreOnce) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise_all();
  attempt.share_all();
  attempt.mask_all(3);
  attempt.pass(kPhase);
  attempt.accept_all(2);
  EXPECT_THAT(attempt.accept(2), ElementsAre("expected 3"));
  EXPECT_THAT(attempt.pass(kPhase), IsEmpty());
}

// ---- Questions

TEST(AttemptMachine, AQuestionIsAnsweredWhenThePhaseBegins) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise_all(3);
  EXPECT_THAT(attempt.ask(0, CohortQuestion::roster), IsEmpty());
  EXPECT_THAT(attempt.ask(1, CohortQuestion::roster), IsEmpty());
  EXPECT_THAT(attempt.ask(2, CohortQuestion::share_inbox), IsEmpty());
  EXPECT_THAT(attempt.advertise(3), ElementsAre("take 3", "answer 0: roster", "answer 1: roster"));
  EXPECT_THAT(attempt.ask(3, CohortQuestion::roster), ElementsAre("answer 3: roster"));
}

TEST(AttemptMachine, AQuestionIsHeldForItsTime) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise_all(2);
  attempt.ask(0, CohortQuestion::roster, Millis(300));
  attempt.ask(1, CohortQuestion::roster, Millis(200));
  EXPECT_EQ(attempt.wake(), 200) << "the second is the first whose time is up";
  EXPECT_THAT(attempt.pass(Millis(199)), IsEmpty());
  EXPECT_THAT(attempt.pass(Millis(1)), ElementsAre("answer 1: not yet"));
  EXPECT_EQ(attempt.wake(), 300);
  EXPECT_THAT(attempt.pass(Millis(100)), ElementsAre("answer 0: not yet"));
  EXPECT_EQ(attempt.wake(), 18'000);
  EXPECT_THAT(attempt.ask(0, CohortQuestion::roster, Millis(0)), ElementsAre("answer 0: not yet"));
}

TEST(AttemptMachine, AStrangersQuestionIsNotHeld) {
  AttemptScript attempt;
  attempt.begin();
  EXPECT_THAT(attempt.ask(0, CohortQuestion::roster), ElementsAre("refuse 0: round_closed")) << "no advert";
}

TEST(AttemptMachine, NothingIsHeldOnceTheServerIsAboutToStop) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise_all(2);
  attempt.ask(0, CohortQuestion::roster);
  EXPECT_THAT(attempt.step(StopHolding{}), ElementsAre("answer 0: not yet"));
  EXPECT_THAT(attempt.ask(1, CohortQuestion::roster), ElementsAre("answer 1: not yet"));
}

TEST(AttemptMachine, WhoIsHeldHearsOfTheEnd) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise_all(2);
  attempt.ask(0, CohortQuestion::roster);
  EXPECT_THAT(attempt.step(AttemptWithdrawn{}), ElementsAre("refuse 0: round_closed"));
  EXPECT_EQ(attempt.wake(), std::nullopt);
}

TEST(AttemptMachine, WhoIsHeldHearsOfTheFailure) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise_all(2);
  attempt.ask(0, CohortQuestion::roster, Millis(60'000));
  EXPECT_THAT(attempt.pass(Millis(18'000)), ElementsAre("refuse 0: round_closed", "note: failed cohort_size",
                                                        HasSubstr("lost: secure aggregation: ")));
}

// ---- Inputs

TEST(AttemptMachine, AnInputIsAcceptedOnce) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise_all();
  attempt.share_all();
  attempt.mask_all();
  attempt.accept_all(3);
  EXPECT_THAT(attempt.accept(2), IsEmpty());
  EXPECT_THAT(attempt.accept(3), ElementsAre("expected 4"));
  EXPECT_THAT(attempt.accept(3), IsEmpty());
  attempt.freeze();
  attempt.listed();
  EXPECT_THAT(attempt.accept(3), IsEmpty()) << "the rows are looked at again";
}

TEST(AttemptMachine, AnInputThatNeverCameIsNotAccepted) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise_all();
  attempt.share_all();
  EXPECT_THAT(attempt.accept(0), IsEmpty());
}

TEST(AttemptMachine, AnotherInputOfTheSameDeviceIsRefused) {
  AttemptScript attempt;
  attempt.begin();
  attempt.advertise_all();
  attempt.share_all();
  attempt.mask(0);
  MaskedInput other = attempt.inputs_[0];
  other.lanes.bytes[0] ^= 1;
  EXPECT_THAT(attempt.send_input(0, other), ElementsAre("refuse 0: invalid_argument"));
  EXPECT_THAT(attempt.send_input(0, attempt.inputs_[0]), ElementsAre("take 0")) << "the same again is fine";
}

// ---- From frozen to finalized

TEST(AttemptMachine, DevicesGoOnWhileTheRoundIsClaimed) {
  AttemptScript attempt;
  attempt.aggregate();
  attempt.freeze();
  EXPECT_THAT(attempt.ask(0, CohortQuestion::unmask_request), IsEmpty()) << "held";
  EXPECT_THAT(attempt.listed(), ElementsAre("answer 0: unmask"));
}

TEST(AttemptMachine, AClaimWaitsForTheMasks) {
  AttemptScript attempt;
  attempt.aggregate();
  attempt.freeze();
  attempt.listed();
  attempt.finalize(9);
  EXPECT_THAT(attempt.listed(9), IsEmpty());
  for (uint32_t i = 0; i < 3; ++i) attempt.unmask(i);
  EXPECT_THAT(attempt.unmask(3), ElementsAre("take 3", "open for 9"));
}

TEST(AttemptMachine, MasksThatAreReadyWaitForTheClaimAndItsList) {
  AttemptScript attempt;
  attempt.aggregate();
  attempt.freeze();
  attempt.listed();
  for (uint32_t i = 0; i < 4; ++i) attempt.unmask(i);
  EXPECT_THAT(attempt.pass(kPhase), IsEmpty());
  EXPECT_THAT(attempt.finalize(8), ElementsAre("list for 8"));
  EXPECT_THAT(attempt.finalize(9), ElementsAre("list for 9"));
  EXPECT_THAT(attempt.listed(8), IsEmpty()) << "nobody waits for it any more";
  EXPECT_THAT(attempt.listed(9), ElementsAre("open for 9"));
}

TEST(AttemptMachine, TheClaimFreezesIfTheStoreFailedBefore) {
  AttemptScript attempt;
  attempt.aggregate();
  attempt.freeze();
  EXPECT_THAT(attempt.not_listed(), IsEmpty());
  attempt.finalize(8);
  EXPECT_THAT(attempt.not_listed(8), ElementsAre("not finalized for 8")) << "the round asks again";
  attempt.finalize(9);
  attempt.listed(9);
  for (uint32_t i = 0; i < 3; ++i) attempt.unmask(i);
  EXPECT_THAT(attempt.unmask(3), ElementsAre("take 3", "open for 9"));
}

TEST(AttemptMachine, AFailureOfAFrozenRoundIsToldAtTheClaim) {
  AttemptScript attempt;
  attempt.aggregate();
  attempt.freeze();
  EXPECT_THAT(attempt.listed({}, 3), IsEmpty()) << "the session knows a fourth: it has failed";
  EXPECT_THAT(attempt.ask(0, CohortQuestion::unmask_request), ElementsAre("refuse 0: round_closed"));
  EXPECT_THAT(attempt.pass(kPhase), IsEmpty());
  EXPECT_THAT(attempt.finalize(9), ElementsAre("list for 9", HasSubstr("note: failed"), HasSubstr("lost: secure")));
  EXPECT_THAT(attempt.listed(9, 3), ElementsAre(HasSubstr("lost: secure aggregation: "))) << "told again";
}

TEST(AttemptMachine, AFailureAfterTheClaimIsToldAtOnce) {
  AttemptScript attempt;
  attempt.aggregate();
  attempt.freeze();
  attempt.listed();
  attempt.finalize(9);
  attempt.listed(9);
  EXPECT_THAT(attempt.pass(kPhase), ElementsAre(HasSubstr("note: failed"), HasSubstr("lost: secure aggregation: ")));
}

TEST(AttemptMachine, MasksThatDoNotOpenLoseTheAttempt) {
  AttemptScript attempt;
  attempt.aggregate();
  attempt.freeze();
  attempt.listed();
  for (uint32_t i = 0; i < 4; ++i) attempt.unmask(i);
  attempt.finalize(8);
  attempt.listed(8);
  const Error away(ErrorCode::unavailable, "no disk");
  EXPECT_THAT(attempt.step(SumNotFinalized{8, away}), ElementsAre("not finalized for 8"));
  attempt.finalize(9);
  EXPECT_THAT(attempt.listed(9), ElementsAre("open for 9")) << "the same shares, once more";
  EXPECT_THAT(attempt.step(SumNotFinalized{9, Error(ErrorCode::data_loss, "wrong shares")}),
              ElementsAre("lost: wrong shares"));
  EXPECT_FALSE(attempt.machine().is_aggregating());
}

}  // namespace
}  // namespace coterie
