#include "fl_server/core/ingest_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

const RoundKey kRound{RoundId(7), Attempt(1)};

DeviceId device(uint64_t index) {
  DeviceId id;
  id.bytes[0] = static_cast<uint8_t>(index);
  return id;
}

// A machine whose effects are lines of text. Devices and uploads have the same number unless a test says otherwise.
class Ingest {
 public:
  explicit Ingest(IngestLimits limits = {}) : machine_(limits) {}

  Lines publish(uint32_t goal = 100, RoundState state = RoundState::collecting, RoundKey key = kRound,
                std::vector<DeviceId> accepted = {}) {
    RoundView view;
    view.job = JobId("j");
    view.key = key;
    view.state = state;
    view.goal_count = goal;
    view.update.fixed_point.contributors_max = contributors_max_;
    return step(RoundPublished{view, std::move(accepted)});
  }
  Lines offer(uint64_t upload, uint64_t who, uint64_t bytes = 100, RoundKey key = kRound) {
    return step(UploadOffered{UploadId(upload), key, device(who), bytes});
  }
  Lines offer(uint64_t upload) { return offer(upload, upload); }
  Lines received(uint64_t upload, uint64_t weight = 1) {
    return step(UploadReceived{UploadId(upload), {.updates = 1, .weight = weight, .examples = 10}});
  }
  Lines lost(uint64_t upload) { return step(UploadLost{UploadId(upload)}); }
  Lines added(uint64_t upload) { return step(UpdateAdded{UploadId(upload), {}}); }
  Lines bad(uint64_t upload) {
    return step(UpdateAdded{UploadId(upload), Error(ErrorCode::malformed, "value 3 is not a number")});
  }
  Lines released(uint64_t batch) { return step(BufferReleased{BatchId(batch)}); }
  Lines spilled(uint64_t batch) { return step(BatchSpilled{BatchId(batch), {}}); }
  Lines answered(uint64_t batch, BatchOutcome outcome = BatchDone{}) {
    return step(BatchAnswered{BatchId(batch), std::move(outcome)});
  }
  Lines withdraw(RoundKey key = kRound) { return step(RoundWithdrawn{key}); }
  Lines looked_up(uint64_t upload, Result<bool> accepted) {
    return step(AcceptedLookedUp{UploadId(upload), kRound, device(upload), std::move(accepted)});
  }
  Lines at(int64_t ms) {
    now_ = Instant(Millis(ms));
    return step(IngestTime{});
  }
  void clock(int64_t ms) { now_ = Instant(Millis(ms)); }
  // Offers, admits, receives and adds one update.
  void add(uint64_t upload) {
    offer(upload);
    received(upload);
    added(upload);
  }
  Lines step(const IngestEvent& event) { return text(machine_.step(event, now_)); }

  const IngestMachine& machine() const { return machine_; }
  std::optional<int64_t> wake() const {
    const auto at = machine_.next_deadline();
    return at ? std::optional<int64_t>(at->time_since_epoch().count()) : std::nullopt;
  }
  uint32_t contributors_max_ = 1'000;

 private:
  static std::string number(uint64_t value) { return std::to_string(value); }

  static Lines text(const IngestEffects& effects) {
    Lines lines;
    struct Visitor {
      std::string operator()(const LookUpAccepted& e) { return "look up " + number(e.upload.value()); }
      std::string operator()(const AdmitUpload& e) { return "admit " + number(e.upload.value()); }
      std::string operator()(const RefuseUpload& e) {
        return "refuse " + number(e.upload.value()) + ": " + std::string(e.error.name()) + " " +
               number(e.window.min_ms) + "-" + number(e.window.max_ms);
      }
      std::string operator()(const AcceptUpload& e) {
        return "accept " + number(e.upload.value()) + " of " + number(e.device.bytes[0]);
      }
      std::string operator()(const AddUpdate& e) {
        return "add " + number(e.upload.value()) + " to " + number(e.batch.value());
      }
      std::string operator()(const ReleaseBody& e) { return "release " + number(e.upload.value()); }
      std::string operator()(const SpillBatch& e) {
        return "spill " + number(e.batch.value()) + " of " + number(e.totals.updates);
      }
      std::string operator()(const CommitBatch& e) {
        std::string line = "commit " + number(e.batch.value()) + ":";
        for (const AcceptRow& row : e.rows) line += " " + number(row.device.bytes[0]);
        return line;
      }
      std::string operator()(const DropBatch& e) { return "drop " + number(e.batch.value()); }
      std::string operator()(const ReportAccepted& e) { return "report " + number(e.total); }
      std::string operator()(const NoteAccepted& e) { return "note " + number(e.device.bytes[0]); }
    };
    for (const IngestEffect& effect : effects) lines.push_back(std::visit(Visitor{}, effect));
    return lines;
  }

  IngestMachine machine_;
  Instant now_{};
};

IngestLimits batches_of(uint32_t updates) {
  IngestLimits limits;
  limits.batch_updates_max = updates;
  return limits;
}

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
  EXPECT_EQ(ingest.wake(), 250);
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
  EXPECT_EQ(ingest.wake(), 350) << "250 ms after the batch was opened";
  EXPECT_THAT(ingest.at(349), IsEmpty());
  EXPECT_THAT(ingest.at(350), ElementsAre("spill 1 of 1"));
}

TEST(IngestMachine, LingersLongerWhenFlushesAreExpensive) {
  Ingest ingest;
  ingest.publish();
  ingest.add(1);
  ingest.spilled(1);
  ingest.clock(100);
  ingest.answered(1);  // the flush took 100 ms
  ingest.offer(2);
  ingest.offer(3);
  ingest.received(2);
  ingest.added(2);
  EXPECT_EQ(ingest.wake(), 100 + 8 * 100);
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

TEST(IngestMachine, FlushesWhenTheGoalIsReached) {
  Ingest ingest;
  ingest.publish(2);
  for (uint64_t i = 1; i <= 3; ++i) ingest.offer(i);
  ingest.received(1);
  ingest.received(2);
  EXPECT_THAT(ingest.added(1), IsEmpty());
  EXPECT_THAT(ingest.added(2), ElementsAre("spill 1 of 2")) << "with these two the round is complete";
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
}

// ---- Rounds end

TEST(IngestMachine, LooksUpADeviceThatComesToARoundItDoesNotServe) {
  Ingest ingest;
  EXPECT_THAT(ingest.offer(1), ElementsAre("look up 1")) << "perhaps accepted, and only the answer was lost";
  EXPECT_THAT(ingest.looked_up(1, true), ElementsAre("accept 1 of 1"));
  EXPECT_THAT(ingest.looked_up(2, false), ElementsAre("refuse 2: round_closed 0-500"));
  EXPECT_THAT(ingest.looked_up(3, Error(ErrorCode::unavailable, "no store")),
              ElementsAre("refuse 3: unavailable 1000-5000"));
  EXPECT_TRUE(ingest.machine().idle());
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
  EXPECT_THAT(ingest.publish(100, RoundState::frozen),
              ElementsAre("refuse 3: round_closed 0-500", "refuse 4: round_closed 0-500",
                          "refuse 5: round_closed 0-500"));
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
  EXPECT_THAT(ingest.added(2),
              ElementsAre("drop 1", "refuse 1: round_closed 0-500", "refuse 2: round_closed 0-500"))
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
  RoundView other;
  other.job = JobId("k");
  other.key = {RoundId(9), Attempt(1)};
  other.state = RoundState::collecting;
  other.goal_count = 5;
  other.update.fixed_point.contributors_max = 100;
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
