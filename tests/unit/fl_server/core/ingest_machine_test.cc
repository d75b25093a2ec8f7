#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/fl_server/core/ingest_script.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// ---- When a batch is flushed

TEST(IngestMachine, FlushesASingleUpdateAtOnce) {
  Ingest ingest;
  ingest.publish();
  EXPECT_THAT(ingest.offer(1), ElementsAre("admit 1"));
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 100u);
  EXPECT_THAT(ingest.received(1, 5), ElementsAre("add 1 to 1"));
  EXPECT_THAT(ingest.added(1), ElementsAre("spill 1 of 1")) << "nobody else is arriving";
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 0u) << "its body is in the sum";
  EXPECT_THAT(ingest.released(1), IsEmpty());
  EXPECT_THAT(ingest.spilled(1), ElementsAre("commit 1: 1"));
  EXPECT_FALSE(ingest.machine().idle());
  EXPECT_THAT(ingest.answered(1), ElementsAre("note 1", "accept 1 of 1", "report 1"));
  EXPECT_TRUE(ingest.machine().idle());
}

TEST(IngestMachine, SumsTheTotalsOfABatch) {
  Ingest ingest;
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.received(1, 5);
  ingest.received(2, 7);
  ingest.added(1);
  ingest.added(2);
  ingest.clock(10);
  IngestMachine copy = ingest.machine();
  const IngestEffects effects = copy.step(BatchSpilled{BatchId(1), {}}, Instant(Millis(10)));
  const auto& commit = std::get<CommitBatch>(effects.at(0));
  EXPECT_EQ(commit.totals, (RoundTotals{.updates = 2, .weight = 12, .examples = 20}));
  EXPECT_EQ(commit.key, kRound);
}

TEST(IngestMachine, WaitsForOthersThatAreArriving) {
  Ingest ingest;
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.received(1);
  EXPECT_THAT(ingest.added(1), IsEmpty()) << "2 is on its way";
  EXPECT_EQ(ingest.wake(), 2'000);
  EXPECT_THAT(ingest.received(2), ElementsAre("add 2 to 1"));
  EXPECT_THAT(ingest.added(2), ElementsAre("spill 1 of 2"));
}

TEST(IngestMachine, WaitsNoLongerThanTheLinger) {
  Ingest ingest;
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.clock(100);
  ingest.received(1);
  ingest.added(1);
  EXPECT_EQ(ingest.wake(), 2'100) << "linger_max after the batch was opened";
  EXPECT_THAT(ingest.at(2'099), IsEmpty());
  EXPECT_THAT(ingest.at(2'100), ElementsAre("spill 1 of 1"));
}

TEST(IngestMachine, FlushesAtOnceWhileThereIsCreditAlthoughOthersArrive) {
  Ingest ingest({}, Credit::fresh);
  ingest.clock(1'000);
  ingest.publish();
  for (uint64_t i = 1; i <= 3; ++i) ingest.offer(i);
  ingest.received(1);
  ingest.received(2);
  EXPECT_THAT(ingest.added(1), IsEmpty()) << "2 is being added";
  EXPECT_THAT(ingest.added(2), ElementsAre("spill 1 of 2")) << "3 is still arriving";
}

TEST(IngestMachine, WaitsForNoAdditionLongerThanTheLeastLinger) {
  Ingest ingest({}, Credit::fresh);
  ingest.clock(1'000);
  ingest.publish();
  for (uint64_t i = 1; i <= 3; ++i) ingest.offer(i);
  ingest.received(1);
  EXPECT_EQ(ingest.wake(), 1'010);
  ingest.at(1'010);
  EXPECT_THAT(ingest.received(2), IsEmpty()) << "it waits for the buffer";
  EXPECT_THAT(ingest.added(1), ElementsAre("spill 1 of 1"));
}

TEST(IngestMachine, LingersUntilExpensiveFlushesArePaidBack) {
  Ingest ingest({}, Credit::fresh);
  ingest.clock(1'000);
  ingest.publish();
  ingest.add(1);
  ingest.spilled(1);
  ingest.clock(1'100);
  ingest.answered(1);  // the flush took 100 ms; for 10 of them there was credit
  ingest.offer(2);
  ingest.offer(3);
  ingest.received(2);
  ingest.added(2);
  EXPECT_EQ(ingest.wake(), 1'000 + 9 * 90);
  ingest.clock(1'000'000);
  ingest.at(1'000'000);
  ingest.spilled(2);
  ingest.clock(1'900'000);
  ingest.answered(2);  // and this one a quarter of an hour
  ingest.received(3);
  ingest.offer(4);
  ingest.added(3);
  EXPECT_EQ(ingest.wake(), 1'900'000 + 2'000) << "but never longer than linger_max";
}

TEST(IngestMachine, WaitsForSomebodyToArriveAsLongAsFlushesAreExpensive) {
  Ingest ingest({}, Credit::fresh);
  ingest.clock(1'000);
  ingest.publish();
  for (uint64_t i = 1; i <= 2; ++i) {  // two flushes of 10 ms: the credit is used up
    ingest.add(i);
    ingest.spilled(i);
    ingest.clock(static_cast<int64_t>(1'000 + 10 * i));
    ingest.answered(i);
  }
  ingest.add(3);
  EXPECT_EQ(ingest.wake(), 1'020 + 4 * 10);
  EXPECT_THAT(ingest.at(1'059), IsEmpty());
  EXPECT_THAT(ingest.at(1'060), ElementsAre("spill 3 of 1"));
  ingest.spilled(3);
  ingest.clock(2'060);
  ingest.answered(3);  // and this one a second
  ingest.add(4);
  EXPECT_EQ(ingest.wake(), 2'060 + 250) << "but never longer than a quarter of a second";
}

TEST(IngestMachine, FlushesAFullBatchAlthoughOthersArrive) {
  Ingest ingest(batches_of(2));
  ingest.publish();
  for (uint64_t i = 1; i <= 4; ++i) ingest.offer(i);
  ingest.received(1);
  ingest.added(1);
  ingest.received(2);
  EXPECT_THAT(ingest.received(3), IsEmpty()) << "the batch is full and waits for 2's addition; 3 waits for the buffer";
  EXPECT_THAT(ingest.added(2), ElementsAre("spill 1 of 2"));
  EXPECT_THAT(ingest.released(1), ElementsAre("add 3 to 2")) << "before the first batch is durable";
}

TEST(IngestMachine, KeepsABatchWithinItsLimitWhenManyWaitForTheBuffer) {
  Ingest ingest(batches_of(2));
  ingest.publish();
  for (uint64_t i = 1; i <= 7; ++i) ingest.offer(i);
  ingest.received(1);
  ingest.received(2);
  ingest.added(1);
  ingest.added(2);
  for (uint64_t i = 3; i <= 6; ++i) ingest.received(i);
  EXPECT_THAT(ingest.released(1), ElementsAre("add 3 to 2", "add 4 to 2"));
  ingest.added(3);
  EXPECT_THAT(ingest.added(4), ElementsAre("spill 2 of 2"));
  EXPECT_THAT(ingest.released(2), ElementsAre("add 5 to 3", "add 6 to 3"));
}

TEST(IngestMachine, FlushesWhenTheGoalIsReached) {
  Ingest ingest;
  ingest.publish(2);
  for (uint64_t i = 1; i <= 3; ++i) ingest.offer(i);
  ingest.received(1);
  ingest.received(2);
  EXPECT_THAT(ingest.added(1), IsEmpty());
  EXPECT_THAT(ingest.added(2), ElementsAre("spill 1 of 2")) << "with these two the round is complete";
}

TEST(IngestMachine, FlushesWhenAllThatAreDueAreThereInThePlaceOfTheGoal) {
  Ingest ingest;
  ingest.publish(2);
  ingest.due(4);
  for (uint64_t i = 1; i <= 5; ++i) ingest.offer(i);
  for (uint64_t i = 1; i <= 3; ++i) ingest.received(i);
  for (uint64_t i = 1; i <= 3; ++i) EXPECT_THAT(ingest.added(i), IsEmpty()) << "a fourth is due";
  EXPECT_THAT(ingest.due(3), ElementsAre("spill 1 of 3")) << "it was given up";
}

TEST(IngestMachine, CountsWhatIsAcceptedAmongThoseThatAreDue) {
  Ingest ingest;
  ingest.publish(100, RoundState::collecting, kRound, {device(9)});
  ingest.due(2);
  ingest.offer(1);
  ingest.offer(2);
  ingest.received(1);
  EXPECT_THAT(ingest.added(1), ElementsAre("spill 1 of 1"));
  EXPECT_THAT(ingest.due(0), IsEmpty());
}

TEST(IngestMachine, CountsWhatTheStoreKnowsTowardsTheGoal) {
  Ingest ingest;
  ingest.publish(3, RoundState::collecting, kRound, {device(8), device(9)});
  ingest.offer(1);
  ingest.offer(2);
  ingest.received(1);
  EXPECT_THAT(ingest.added(1), ElementsAre("spill 1 of 1"));
  EXPECT_THAT(ingest.offer(30, 9), ElementsAre("accept 30 of 9")) << "accepted before a restart";
}

TEST(IngestMachine, FlushesWhenTheLastArrivalIsLost) {
  Ingest ingest;
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.received(1);
  ingest.added(1);
  EXPECT_THAT(ingest.lost(2), ElementsAre("spill 1 of 1"));
}

// ---- The byte budget

TEST(IngestMachine, QueuesWhatDoesNotFitAndAdmitsInOrder) {
  IngestLimits limits;
  limits.bytes_in_flight_max = 250;
  Ingest ingest(limits);
  ingest.publish();
  EXPECT_THAT(ingest.offer(1), ElementsAre("admit 1"));
  EXPECT_THAT(ingest.offer(2), ElementsAre("admit 2"));
  EXPECT_THAT(ingest.offer(3, 3, 200), IsEmpty());
  EXPECT_THAT(ingest.offer(4, 4, 10), IsEmpty()) << "would fit, but the queue is fair";
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 200u);
  ingest.received(1);
  EXPECT_THAT(ingest.added(1), IsEmpty());
  EXPECT_THAT(ingest.lost(2), ElementsAre("admit 3", "admit 4"));
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 210u);
}

TEST(IngestMachine, HoldsTheBytesUntilTheBodyIsInTheSum) {
  IngestLimits limits = batches_of(1);
  limits.bytes_in_flight_max = 200;
  Ingest ingest(limits);
  ingest.publish();
  for (uint64_t i = 1; i <= 3; ++i) ingest.offer(i);
  ingest.received(1);
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 200u);
  EXPECT_THAT(ingest.added(1), ElementsAre("admit 3", "spill 1 of 1"));
  ingest.received(2);
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 200u) << "2 waits in memory for the buffer";
  EXPECT_THAT(ingest.released(1), ElementsAre("add 2 to 2"));
  ingest.added(2);
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 100u);
}

TEST(IngestMachine, RefusesAnUpdateThatCouldNeverFit) {
  IngestLimits limits;
  limits.bytes_in_flight_max = 250;
  Ingest ingest(limits);
  ingest.publish();
  EXPECT_THAT(ingest.offer(1, 1, 251), ElementsAre("refuse 1: too_large 0-0"));
  EXPECT_THAT(ingest.offer(2, 2, ~0ull), ElementsAre("refuse 2: too_large 0-0"));
  EXPECT_THAT(ingest.offer(3, 3, 250), ElementsAre("admit 3"));
}

TEST(IngestMachine, CountsTheMemoryThatFewBitsAreUnpackedTo) {
  IngestLimits limits;
  limits.bytes_in_flight_max = 250;
  Ingest ingest(limits);
  ingest.quantized_values_ = 25;  // 100 bytes
  ingest.publish();
  EXPECT_THAT(ingest.offer(1, 1, 25), ElementsAre("admit 1"));
  EXPECT_THAT(ingest.offer(2, 2, 25), ElementsAre("admit 2"));
  EXPECT_THAT(ingest.offer(3, 3, 25), IsEmpty());
  EXPECT_THAT(ingest.offer(4, 4, 151), ElementsAre("refuse 4: too_large 0-0"));
  EXPECT_THAT(ingest.offer(5, 5, ~0ull), ElementsAre("refuse 5: too_large 0-0"));
}

TEST(IngestMachine, RefusesWhenTooManyWait) {
  IngestLimits limits;
  limits.bytes_in_flight_max = 100;
  limits.uploads_queued_max = 2;
  Ingest ingest(limits);
  ingest.publish();
  for (uint64_t i = 1; i <= 3; ++i) ingest.offer(i);
  EXPECT_THAT(ingest.offer(4), ElementsAre("refuse 4: overloaded 1000-5000"));
}

TEST(IngestMachine, RefusesWhatWaitedTooLong) {
  IngestLimits limits;
  limits.bytes_in_flight_max = 100;
  limits.queued_max = Millis(500);
  Ingest ingest(limits);
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.clock(100);
  ingest.offer(3);
  EXPECT_EQ(ingest.wake(), 500);
  EXPECT_THAT(ingest.at(499), IsEmpty());
  EXPECT_THAT(ingest.at(500), ElementsAre("refuse 2: overloaded 1000-5000"));
  EXPECT_EQ(ingest.wake(), 600);
  EXPECT_THAT(ingest.lost(1), ElementsAre("admit 3"));
  EXPECT_THAT(ingest.at(600), IsEmpty());
}

TEST(IngestMachine, AdmitsWhatWaitedBehindALargeUpdateThatIsRefused) {
  IngestLimits limits;
  limits.bytes_in_flight_max = 250;
  limits.queued_max = Millis(500);
  Ingest ingest(limits);
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2, 2, 200);
  ingest.clock(100);
  ingest.offer(3);
  EXPECT_THAT(ingest.at(500), ElementsAre("refuse 2: overloaded 1000-5000", "admit 3"));
}

// ---- Duplicates, in every stage

TEST(IngestMachine, GivesADuplicateTheSameAnswerWhereverTheFirstOneStands) {
  Ingest ingest;
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);  // keeps the batch open
  EXPECT_THAT(ingest.offer(10, 1), ElementsAre("admit 10")) << "the first is being received";
  ingest.received(1);
  EXPECT_THAT(ingest.received(10), ElementsAre("release 10")) << "the first is being added: joined";
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 200u) << "the joined body's bytes are free";
  ingest.added(1);
  ingest.offer(11, 1);
  EXPECT_THAT(ingest.received(11), ElementsAre("release 11")) << "added";
  EXPECT_THAT(ingest.lost(2), ElementsAre("spill 1 of 1"));
  ingest.offer(12, 1);
  EXPECT_THAT(ingest.received(12), ElementsAre("release 12")) << "spilling";
  ingest.released(1);
  ingest.spilled(1);
  ingest.offer(13, 1);
  EXPECT_THAT(ingest.received(13), ElementsAre("release 13")) << "committing";
  ingest.offer(14, 1);
  EXPECT_THAT(ingest.answered(1), ElementsAre("note 1", "accept 1 of 1", "accept 10 of 1", "accept 11 of 1",
                                              "accept 12 of 1", "accept 13 of 1", "report 1"));
  EXPECT_THAT(ingest.received(14), ElementsAre("accept 14 of 1")) << "accepted while its body was on its way";
  EXPECT_THAT(ingest.offer(15, 1), ElementsAre("accept 15 of 1")) << "accepted: the body is not even read";
  EXPECT_TRUE(ingest.machine().idle());
  EXPECT_EQ(ingest.machine().bytes_in_flight(), 0u);
}

TEST(IngestMachine, CountsADeviceOnceWhenBothItsUploadsWaitForTheBuffer) {
  Ingest ingest(batches_of(1));
  ingest.publish();
  for (const auto& [upload, who] : {std::pair(1, 1), std::pair(2, 2), std::pair(3, 2)}) ingest.offer(upload, who);
  ingest.received(1);
  ingest.added(1);
  ingest.received(2);
  ingest.received(3);
  EXPECT_THAT(ingest.released(1), ElementsAre("add 2 to 2", "release 3"));
  ingest.added(2);
  ingest.released(2);
  ingest.spilled(2);
  EXPECT_THAT(ingest.answered(2), ElementsAre("note 2", "accept 2 of 2", "accept 3 of 2", "report 1"));
}

// ---- Bad updates

TEST(IngestMachine, RemovesABadUpdateAndTheBatchGoesOn) {
  Ingest ingest;
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.offer(20, 2);
  ingest.received(1);
  ingest.received(2);
  ingest.received(20);
  ingest.added(1);
  EXPECT_THAT(ingest.bad(2), ElementsAre("refuse 2: malformed 0-0", "refuse 20: malformed 0-0", "spill 1 of 1"));
  ingest.spilled(1);
  EXPECT_THAT(ingest.answered(1), ElementsAre("note 1", "accept 1 of 1", "report 1"));
  EXPECT_THAT(ingest.offer(3, 2), ElementsAre("admit 3")) << "its device may try again";
}

TEST(IngestMachine, DropsABatchOfWhichNothingIsLeft) {
  Ingest ingest(batches_of(1));
  ingest.publish();
  ingest.offer(1);
  ingest.offer(2);
  ingest.received(1);
  ingest.received(2);
  EXPECT_THAT(ingest.bad(1), ElementsAre("refuse 1: malformed 0-0", "drop 1", "add 2 to 2"))
      << "the buffer is free for the next batch";
  EXPECT_THAT(ingest.added(2), ElementsAre("spill 2 of 1"));
}

}  // namespace
}  // namespace coterie
