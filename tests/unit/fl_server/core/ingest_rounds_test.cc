// What the store answers, and rounds that end while uploads stand in every stage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fl_server/runtime/ticket_terms.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/core/ingest_script.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// ---- What the store says

TEST(IngestMachine, RepeatsACommitInDoubtUnderTheSameId) {
  Ingest ingest;
  ingest.publish();
  ingest.add(1);
  ingest.spilled(1);
  const BatchOutcome unknown = BatchUnknown{Error(ErrorCode::unavailable, "the store is away")};
  EXPECT_THAT(ingest.answered(1, unknown), IsEmpty());
  int64_t now = 0;
  for (const int64_t wait : {100, 200, 400, 800, 1'600, 3'200, 5'000, 5'000}) {
    EXPECT_EQ(ingest.wake(), now + wait);
    EXPECT_THAT(ingest.at(now + wait - 1), IsEmpty());
    now += wait;
    EXPECT_THAT(ingest.at(now), ElementsAre("commit 1: 1"));
    EXPECT_EQ(ingest.wake(), std::nullopt) << "an answer is awaited";
    ingest.answered(1, unknown);
  }
  EXPECT_THAT(ingest.answered(1), ElementsAre("note 1", "accept 1 of 1", "report 1")) << "a late answer is an answer";
  EXPECT_THAT(ingest.answered(1), IsEmpty()) << "and the retry's answer comes too late";
  EXPECT_TRUE(ingest.machine().idle());
}

TEST(IngestMachine, GivesAConflictingDeviceItsReceiptAndAsksTheOthersToSendAgain) {
  Ingest ingest;
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.received(1);
  ingest.received(2);
  ingest.added(1);
  ingest.added(2);
  ingest.spilled(1);
  EXPECT_THAT(ingest.answered(1, BatchConflict{{device(2)}}),
              ElementsAre("drop 1", "refuse 1: unavailable 0-500", "note 2", "accept 2 of 2"));
  EXPECT_THAT(ingest.offer(3, 2), ElementsAre("accept 3 of 2")) << "remembered";
  EXPECT_THAT(ingest.offer(4, 1), ElementsAre("admit 4")) << "and taken";
}

TEST(IngestMachine, RefusesEveryoneOfABatchThatWasTooLate) {
  Ingest ingest;
  ingest.publish();
  ingest.add(1);
  ingest.spilled(1);
  EXPECT_THAT(ingest.answered(1, BatchClosed{}), ElementsAre("drop 1", "refuse 1: round_closed 0-500"));
  EXPECT_TRUE(ingest.machine().idle());
}

TEST(IngestMachine, PassesOnWhyACommitCertainlyFailed) {
  Ingest ingest;
  ingest.publish();
  ingest.add(1);
  ingest.spilled(1);
  EXPECT_THAT(ingest.answered(1, BatchFailed{Error(ErrorCode::storage_full, "the database's disk is full")}),
              ElementsAre("drop 1", "refuse 1: storage_full 1000-5000"));
}

TEST(IngestMachine, RefusesAllOfABatchWhoseSumCouldNotBeStored) {
  Ingest ingest;
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.received(1);
  ingest.received(2);
  ingest.added(1);
  ingest.added(2);
  ingest.released(1);
  EXPECT_THAT(ingest.step(BatchSpilled{BatchId(1), Error(ErrorCode::storage_full, "the disk is full")}),
              ElementsAre("drop 1", "refuse 1: storage_full 1000-5000", "refuse 2: storage_full 1000-5000"));
  EXPECT_TRUE(ingest.machine().idle());
  EXPECT_THAT(ingest.offer(3, 1), ElementsAre("admit 3"));
}

// Kept updates lie in memory until they are stored, so that a batch ends where so many bytes do.
TEST(IngestMachine, EndsABatchOfKeptUpdatesWhereItsBytesDo) {
  IngestLimits limits;
  limits.kept_batch_bytes_max = 2 * 400 + 399;  // two of 100 values
  Ingest ingest(limits);
  ingest.keeps_updates_ = true;
  ingest.value_count_ = 100;
  ingest.publish();
  for (const uint64_t upload : {1u, 2u, 3u}) ingest.offer(upload);
  EXPECT_THAT(ingest.received(1), ElementsAre("add 1 to 1"));
  EXPECT_THAT(ingest.received(2), ElementsAre("add 2 to 1"));
  EXPECT_THAT(ingest.received(3), IsEmpty()) << "it waits for the buffer";
  ingest.added(1);
  EXPECT_THAT(ingest.added(2), ElementsAre("spill 1 of 2"));
  EXPECT_THAT(ingest.released(1), ElementsAre("add 3 to 2"));
}

// A sum has 8 bytes a value, and each update may be of a cohort of its own.
TEST(IngestMachine, EndsABatchOfCohortsSumsWhereTheirBytesDo) {
  IngestLimits limits;
  limits.kept_batch_bytes_max = 2 * 800 - 1;
  Ingest ingest(limits);
  ingest.keeps_updates_ = true;
  ingest.level_ = SecurityLevel::masked;
  ingest.value_count_ = 100;
  ingest.publish();
  ingest.offer(1);
  EXPECT_THAT(ingest.received(1), ElementsAre("add 1 to 1"));
  EXPECT_THAT(ingest.added(1), ElementsAre("spill 1 of 1"));
}

TEST(IngestMachine, TakesAKeptUpdateThatIsLargerThanABatchAlone) {
  IngestLimits limits;
  limits.kept_batch_bytes_max = 1;
  Ingest ingest(limits);
  ingest.keeps_updates_ = true;
  ingest.value_count_ = 100;
  ingest.publish();
  ingest.offer(1);
  EXPECT_THAT(ingest.received(1), ElementsAre("add 1 to 1"));
  EXPECT_THAT(ingest.added(1), ElementsAre("spill 1 of 1"));
}

TEST(IngestMachine, TakesTheBlobForTheBuffersReleaseIfThatWasNotTold) {
  Ingest ingest(batches_of(1));
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.received(1);
  ingest.added(1);
  ingest.received(2);
  EXPECT_THAT(ingest.spilled(1), ElementsAre("add 2 to 2", "commit 1: 1"));
  EXPECT_THAT(ingest.released(1), IsEmpty()) << "told late";
  ingest.answered(1);
  EXPECT_THAT(ingest.released(1), IsEmpty()) << "told even later";
}

// ---- Rounds end

TEST(IngestMachine, LooksUpADeviceThatComesToARoundItDoesNotServe) {
  Ingest ingest;
  EXPECT_THAT(ingest.offer(1), ElementsAre("look up 1")) << "perhaps accepted, and only the answer was lost";
  EXPECT_THAT(ingest.looked_up(1, true), ElementsAre("accept 1 of 1"));
  EXPECT_THAT(ingest.looked_up(2, false), ElementsAre("refuse 2: round_closed 0-500"));
  EXPECT_THAT(ingest.looked_up(4, false, true), ElementsAre("refuse 4: ticket_expired 0-500")) << "for certain";
  EXPECT_THAT(ingest.looked_up(5, true, true), ElementsAre("accept 5 of 5"));
  EXPECT_THAT(ingest.looked_up(3, Error(ErrorCode::unavailable, "no store")),
              ElementsAre("refuse 3: unavailable 1000-5000"));
  EXPECT_TRUE(ingest.machine().idle());
}

TEST(LookedUp, SaysOverOnlyToWhoMayJoinALaterRoundAndOnlyOfWhatIsKnown) {
  const LookUpAccepted asked{UploadId(1), kRound, device(1)};
  const UpdateFate open{}, over{.is_over = true}, forgotten{.is_over = true, .is_forgotten = true};
  const UpdateFate counted{.is_accepted = true, .is_over = true, .is_forgotten = true};
  EXPECT_TRUE(looked_up(asked, over, true).is_over);
  EXPECT_FALSE(looked_up(asked, over, false).is_over);
  EXPECT_FALSE(looked_up(asked, open, true).is_over);
  EXPECT_ERROR(looked_up(asked, forgotten, true).accepted, ErrorCode::not_found, "forgotten");
  EXPECT_FALSE(*looked_up(asked, forgotten, false).accepted) << "its device trains anew in any case";
  EXPECT_TRUE(*looked_up(asked, counted, true).accepted);
  EXPECT_ERROR(looked_up(asked, Error(ErrorCode::unavailable, "no store"), true).accepted, ErrorCode::unavailable, "");
}

// One upload in each stage when its round closes. Batch 1 is committing, 2 spilling, 3 has the buffer.
TEST(IngestMachine, AnswersEveryStageWhenTheRoundCloses) {
  IngestLimits limits = batches_of(1);
  limits.bytes_in_flight_max = 500;
  Ingest ingest(limits);
  ingest.publish();
  ingest.add(1);
  ingest.released(1);
  ingest.spilled(1);  // 1 is committing
  ingest.add(2);      // 2 is spilling, the buffer not released
  ingest.offer(3);
  ingest.offer(4);
  ingest.offer(5, 5, 400);  // queued
  ingest.received(3);       // ready, waits for the buffer
  EXPECT_THAT(
      ingest.publish(100, RoundState::frozen),
      ElementsAre("refuse 3: round_closed 0-500", "refuse 4: round_closed 0-500", "refuse 5: round_closed 0-500"));
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 0u);
  EXPECT_THAT(ingest.received(4), IsEmpty()) << "its body came too late";
  EXPECT_THAT(ingest.lost(5), IsEmpty());
  EXPECT_THAT(ingest.released(2), IsEmpty());
  EXPECT_THAT(ingest.spilled(2), ElementsAre("commit 2: 2")) << "the store decides whether it is too late";
  EXPECT_THAT(ingest.answered(1), ElementsAre("note 1", "accept 1 of 1", "report 1")) << "it was in time";
  EXPECT_THAT(ingest.answered(2, BatchClosed{}), ElementsAre("drop 2", "refuse 2: round_closed 0-500"));
  EXPECT_TRUE(ingest.machine().idle());
  EXPECT_THAT(ingest.offer(6), ElementsAre("look up 6"));
}

TEST(IngestMachine, DropsTheOpenBatchWhenTheRoundCloses) {
  Ingest ingest;
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.offer(3);
  ingest.received(1);
  ingest.added(1);
  ingest.received(2);  // being added
  EXPECT_THAT(ingest.withdraw(), ElementsAre("refuse 3: round_closed 0-500"));
  EXPECT_THAT(ingest.added(2), ElementsAre("drop 1", "refuse 1: round_closed 0-500", "refuse 2: round_closed 0-500"))
      << "the buffer may be cleared when nobody adds to it any more";
  EXPECT_TRUE(ingest.machine().idle());
  EXPECT_THAT(ingest.withdraw(), IsEmpty());
}

TEST(IngestMachine, ClosesTheOldAttemptWhenANewOneIsPublished) {
  Ingest ingest;
  ingest.publish();
  ingest.offer(1);
  const RoundKey second{RoundId(7), Attempt(2)};
  EXPECT_THAT(ingest.publish(100, RoundState::collecting, second), ElementsAre("refuse 1: round_closed 0-500"));
  EXPECT_THAT(ingest.offer(2, 1, 100, second), ElementsAre("admit 2"));
  EXPECT_THAT(ingest.offer(3, 1), ElementsAre("look up 3"));
}

TEST(IngestMachine, ServesTwoJobsSideBySide) {
  Ingest ingest;
  ingest.publish();
  RoundNotice other;
  other.job = JobId("k");
  other.key = {RoundId(9), Attempt(1)};
  other.state = RoundState::collecting;
  other.goal_count = 5;
  other.plan.update.fixed_point.contributors_max = 100;
  ingest.step(RoundPublished{other, {}});
  EXPECT_THAT(ingest.offer(1, 1), ElementsAre("admit 1"));
  EXPECT_THAT(ingest.offer(2, 1, 100, other.key), ElementsAre("admit 2"));
  EXPECT_THAT(ingest.received(1), ElementsAre("add 1 to 1"));
  EXPECT_THAT(ingest.received(2), ElementsAre("add 2 to 2"));
  EXPECT_THAT(ingest.added(1), ElementsAre("spill 1 of 1"));
  EXPECT_THAT(ingest.added(2), ElementsAre("spill 2 of 1"));
}

TEST(IngestMachine, TakesNoMoreUpdatesThanTheSumCanHold) {
  Ingest ingest;
  ingest.contributors_max_ = 3;
  ingest.publish(100, RoundState::collecting, kRound, {device(9)});
  ingest.add(1);
  ingest.released(1);
  ingest.offer(2);
  ingest.received(2);
  EXPECT_THAT(ingest.offer(3), ElementsAre("refuse 3: round_closed 0-500")) << "one more could wrap the sum";
  EXPECT_THAT(ingest.offer(4, 9), ElementsAre("accept 4 of 9"));
}

TEST(IngestMachine, TakesNoMoreUpdatesThanTheSumCanHoldOfThoseItAdmitted) {
  Ingest ingest;
  ingest.contributors_max_ = 2;
  ingest.publish();
  for (uint64_t i = 1; i <= 3; ++i) EXPECT_THAT(ingest.offer(i), ElementsAre("admit " + std::to_string(i)));
  ingest.received(1);
  ingest.received(2);
  EXPECT_THAT(ingest.received(3), ElementsAre("refuse 3: round_closed 0-500")) << "there was room when it was offered";
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 200u);
}

TEST(IngestMachine, GivesItsReceiptToADeviceThatIsFoundAcceptedWhileItsUpdateWaits) {
  Ingest ingest(batches_of(1));
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.received(1);
  ingest.added(1);
  ingest.received(2);  // waits for the buffer
  ingest.publish(100, RoundState::collecting, kRound, {device(2)});
  EXPECT_THAT(ingest.released(1), ElementsAre("accept 2 of 2")) << "in a batch it would only spoil the others";
}

// ---- Connections break

TEST(IngestMachine, ForgetsALostUploadBeforeItIsAddedAndCountsItAfter) {
  IngestLimits limits = batches_of(1);
  limits.bytes_in_flight_max = 300;
  Ingest ingest(limits);
  ingest.publish();
  ingest.add(1);  // spilling: the buffer is taken
  ingest.offer(2);
  ingest.offer(3);
  ingest.offer(4, 4, 200);
  EXPECT_THAT(ingest.lost(4), IsEmpty()) << "queued";
  EXPECT_THAT(ingest.lost(3), IsEmpty()) << "receiving";
  ingest.received(2);
  EXPECT_THAT(ingest.lost(2), IsEmpty()) << "ready";
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 0u);
  ingest.offer(5);
  ingest.received(5);
  EXPECT_THAT(ingest.released(1), ElementsAre("add 5 to 2"));
  EXPECT_THAT(ingest.lost(5), IsEmpty()) << "adding: counts without its connection";
  EXPECT_THAT(ingest.added(5), ElementsAre("spill 2 of 1"));
  EXPECT_THAT(ingest.lost(5), IsEmpty()) << "added";
  ingest.released(2);
  ingest.spilled(2);
  EXPECT_THAT(ingest.answered(2), ElementsAre("note 5", "accept 5 of 5", "report 1"));
  EXPECT_THAT(ingest.lost(99), IsEmpty()) << "nobody knows it";
}

}  // namespace
}  // namespace coterie
