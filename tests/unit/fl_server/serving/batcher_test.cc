#include "fl_server/serving/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kSoon{Millis(10)}, kLate{Millis(1'000)};
const LaneId kLane(1), kOther(2);

struct BatcherTest : testing::Test {
  TaskId offer(uint64_t rows, LaneId lane = kLane, Instant deadline = kLate) {
    const auto id = batcher.offer(lane, rows, deadline);
    batcher.check();
    EXPECT_TRUE(id);
    return id.value_or(TaskId(0));
  }
  RowBatch take(Instant now = Instant(Millis(0))) {
    RowBatch batch = batcher.take(now, ended);
    batcher.check();
    return batch;
  }
  void finish(const RowBatch& batch, bool failed = false) {
    const auto all = std::make_unique<bool[]>(batch.pieces.size());
    std::fill_n(all.get(), batch.pieces.size(), failed);
    batcher.finish(batch, {all.get(), batch.pieces.size()}, ended);
    batcher.check();
  }
  Batcher batcher{{.batch_sizes = {1, 2, 4}, .rows_waiting_max = 10}};
  std::vector<EndedTask> ended;
};

TEST_F(BatcherTest, WhatIsThereIsTakenAtOnce) {
  const TaskId task = offer(1);
  const RowBatch batch = take();
  EXPECT_THAT(batch.pieces, ElementsAre(BatchPiece{task, 0, 1}));
  EXPECT_THAT(take().pieces, IsEmpty());
  finish(batch);
  EXPECT_THAT(ended, ElementsAre(EndedTask{task, TaskEnd::whole}));
}

TEST_F(BatcherTest, ABatchHasTheLargestSizeThatIsFilled) {
  const TaskId a = offer(1), b = offer(1), c = offer(1);
  EXPECT_THAT(take().pieces, ElementsAre(BatchPiece{a, 0, 1}, BatchPiece{b, 0, 1}));
  EXPECT_THAT(take().pieces, ElementsAre(BatchPiece{c, 0, 1}));
}

TEST_F(BatcherTest, ALargeRequestIsSplitAndEndsOnce) {
  const TaskId large = offer(7), small = offer(1);
  const RowBatch first = take(), second = take();
  EXPECT_THAT(first.pieces, ElementsAre(BatchPiece{large, 0, 4}));
  EXPECT_THAT(second.pieces, ElementsAre(BatchPiece{large, 4, 3}, BatchPiece{small, 0, 1}));
  finish(second);
  EXPECT_THAT(ended, ElementsAre(EndedTask{small, TaskEnd::whole}));
  finish(first);
  EXPECT_THAT(ended, ElementsAre(EndedTask{small, TaskEnd::whole}, EndedTask{large, TaskEnd::whole}));
}

TEST_F(BatcherTest, NoBatchHasRowsOfTwoLanes) {
  const TaskId a = offer(1), b = offer(1, kOther), c = offer(1);
  EXPECT_THAT(take().pieces, ElementsAre(BatchPiece{a, 0, 1}, BatchPiece{c, 0, 1}));
  EXPECT_THAT(take().pieces, ElementsAre(BatchPiece{b, 0, 1}));
}

TEST_F(BatcherTest, TheOldestRequestsLaneIsNext) {
  offer(1);
  offer(1, kOther);
  EXPECT_EQ(take().lane, kLane);
  offer(1);
  EXPECT_EQ(take().lane, kOther);
}

TEST_F(BatcherTest, AFullQueueRefuses) {
  offer(10);
  EXPECT_FALSE(batcher.offer(kLane, 1, kLate));
  batcher.check();
  take();
  EXPECT_TRUE(batcher.offer(kLane, 4, kLate));
}

TEST_F(BatcherTest, ARequestOverTheQueuesLimitComesInWhenNothingWaits) {
  EXPECT_TRUE(batcher.offer(kLane, 100, kLate));
  batcher.check();
}

TEST_F(BatcherTest, WhatIsTooLateIsNotComputed) {
  const TaskId late = offer(1, kLane, kSoon), good = offer(1);
  EXPECT_THAT(take(kSoon).pieces, ElementsAre(BatchPiece{good, 0, 1}));
  EXPECT_THAT(ended, ElementsAre(EndedTask{late, TaskEnd::expired}));
}

TEST_F(BatcherTest, WhatExpiresHalfDoneEndsWhenTheWorkerIsBack) {
  const TaskId task = offer(6, kLane, kSoon);
  const RowBatch batch = take();
  EXPECT_THAT(take(kSoon).pieces, IsEmpty());
  EXPECT_THAT(ended, IsEmpty());
  finish(batch);
  EXPECT_THAT(ended, ElementsAre(EndedTask{task, TaskEnd::expired}));
}

TEST_F(BatcherTest, AFailedPieceFailsItsRequestAlone) {
  const TaskId bad = offer(5), good = offer(3);
  const RowBatch first = take(), second = take();
  EXPECT_THAT(second.pieces, ElementsAre(BatchPiece{bad, 4, 1}, BatchPiece{good, 0, 3}));
  finish(first, true);
  finish(second);
  EXPECT_THAT(ended, ElementsAre(EndedTask{bad, TaskEnd::failed}, EndedTask{good, TaskEnd::whole}));
}

TEST_F(BatcherTest, AFailedRequestsRestIsComputedForNobody) {
  const TaskId task = offer(8);
  finish(take(), true);
  EXPECT_THAT(ended, ElementsAre(EndedTask{task, TaskEnd::failed}));
  EXPECT_THAT(take().pieces, IsEmpty());
}

TEST_F(BatcherTest, WhoGivesUpEndsAllThatWait) {
  const TaskId half = offer(5), waiting = offer(2);
  const RowBatch batch = take();
  batcher.give_up(ended);
  batcher.check();
  EXPECT_THAT(ended, ElementsAre(EndedTask{waiting, TaskEnd::expired}));
  finish(batch);
  EXPECT_THAT(ended, ElementsAre(EndedTask{waiting, TaskEnd::expired}, EndedTask{half, TaskEnd::expired}));
  EXPECT_EQ(batcher.tasks(), 0u);
}

}  // namespace
}  // namespace coterie
