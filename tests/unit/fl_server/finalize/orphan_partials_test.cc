#include "fl_server/finalize/orphan_partials.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/memory_training_store.h"

namespace coterie {
namespace {

// A round that collects, with one batch whose row names its partial sum.
class OrphanPartials : public testing::Test {
 protected:
  void SetUp() override {
    JobRecord job;
    job.id = JobId("j");
    ModelRecord base;
    base.job = job.id;
    ASSERT_OK(rounds_.create_job(job, base));
    const RoundRecord round = rounds_.open_round(job.id, {1, std::nullopt, Attempt(1), base}, WallTime()).value();
    ASSERT_TRUE(
        rounds_.move_round({round.key, RoundState::selecting, RoundState::collecting, "", 1}, WallTime()).value());
    named_ = put("named");
    RoundTotals totals;
    totals.updates = totals.weight = 1;
    ASSERT_TRUE(std::holds_alternative<BatchDone>(
        rounds_.accept_batch({"node/1", round.key, totals, named_}, std::vector<AcceptRow>(1))));
  }
  Digest put(std::string_view bytes) { return static_cast<BlobStore&>(partials_).put(as_bytes(bytes)).value(); }
  bool is_there(const Digest& blob) { return partials_.open(blob).has_value(); }

  MemoryTrainingStore rounds_;
  test::MemoryBlobStore partials_;
  Digest named_;
};

TEST_F(OrphanPartials, AreRemovedAndWhatARowNamesStays) {
  const Digest orphan = put("orphan");
  ASSERT_OK(remove_orphan_partials(*rounds_.list_jobs(), rounds_, rounds_, partials_, Millis(0)));
  EXPECT_FALSE(is_there(orphan));
  EXPECT_TRUE(is_there(named_));
}

TEST_F(OrphanPartials, AreLeftWhileABatchMayBeOnItsWay) {
  const Digest old = put("old");
  partials_.pass(Millis(1'000));
  const Digest young = put("young");
  ASSERT_OK(remove_orphan_partials(*rounds_.list_jobs(), rounds_, rounds_, partials_, Millis(1'000)));
  EXPECT_FALSE(is_there(old));
  EXPECT_TRUE(is_there(young));
  EXPECT_TRUE(is_there(named_)) << "however old";
}

}  // namespace
}  // namespace coterie
