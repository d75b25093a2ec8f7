#include "fl_server/core/batch_records.h"

#include <gtest/gtest.h>

#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

const BatchId kBatch(7);
const RoundKey kRound{RoundId(3), Attempt(1)};
const Digest kBlob{{1}};

Instant at(int64_t ms) { return Instant(Millis(ms)); }
SpillBatch spill_of(BatchId batch) { return {batch, kRound, {.updates = 2, .weight = 5}}; }

TEST(BatchRecords, ABatchGoesFromTheSumToItsRow) {
  BatchRecords records("node/life");
  EXPECT_TRUE(records.is_empty());
  records.add(kBatch);
  records.add(kBatch);
  const PartialRecord partial = records.spill(spill_of(kBatch), at(100));
  EXPECT_EQ(partial.id, "node/life/7");
  EXPECT_EQ(partial.key, kRound);
  EXPECT_EQ(partial.totals.weight, 5u);
  records.check();
  records.spilled(kBatch, kBlob);
  EXPECT_EQ(records.partial(kBatch).blob, kBlob);
  records.check();
  EXPECT_EQ(records.done(kBatch, at(350)), Millis(250));
  EXPECT_TRUE(records.is_empty());
  EXPECT_EQ(records.done(kBatch, at(360)), std::nullopt) << "a retry crossed the first answer";
}

TEST(BatchRecords, WhatADroppedBatchLeavesFollowsFromHowFarItCame) {
  BatchRecords records("node/life");
  EXPECT_EQ(records.drop(kBatch), BatchLeft{}) << "it had no update";
  records.add(kBatch);
  EXPECT_EQ(records.drop(kBatch), BatchLeft{.is_in_sum = true});
  records.add(kBatch);
  records.spill(spill_of(kBatch), at(0));
  EXPECT_EQ(records.drop(kBatch), BatchLeft{}) << "it could not be written, and whoever wrote it cleared the sum";
  records.add(kBatch);
  records.spill(spill_of(kBatch), at(0));
  records.spilled(kBatch, kBlob);
  EXPECT_EQ(records.drop(kBatch), (BatchLeft{.is_in_sum = false, .blob = kBlob}));
  EXPECT_TRUE(records.is_empty());
}

TEST(BatchRecords, ABatchOutOfItsOrderIsABug) {
  const test::ThrowingAsserts throwing;
  BatchRecords records("node/life");
  EXPECT_THROW(records.spill(spill_of(kBatch), at(0)), AssertionFailure) << "it has no update";
  records.add(kBatch);
  EXPECT_THROW(records.partial(kBatch), AssertionFailure) << "it was not written";
  EXPECT_THROW(records.spilled(kBatch, kBlob), AssertionFailure);
  records.spill(spill_of(kBatch), at(0));
  EXPECT_THROW(records.spill(spill_of(kBatch), at(0)), AssertionFailure) << "twice";
  EXPECT_THROW(records.add(kBatch), AssertionFailure) << "its sum is being written";
  EXPECT_THROW(records.done(kBatch, at(0)), AssertionFailure) << "it has no blob";
}

}  // namespace
}  // namespace coterie
