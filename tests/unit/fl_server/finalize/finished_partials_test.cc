#include "fl_server/finalize/finished_partials.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/memory_training_store.h"

namespace coterie {
namespace {

// One whose blobs cannot be removed while it is said so.
class StubbornBlobs final : public test::MemoryBlobStore {
 public:
  Status remove(const Digest& digest) override {
    if (is_stubborn) return Error(ErrorCode::unavailable, "the disk is away");
    return test::MemoryBlobStore::remove(digest);
  }
  bool is_stubborn = false;
};

class FinishedPartials : public testing::Test {
 protected:
  void SetUp() override {
    JobRecord job;
    job.id = JobId("j");
    ModelRecord base;
    base.job = job.id;
    ASSERT_OK(store_.create_job(job, base));
    const RoundRecord round = store_.open_round(job.id, {1, std::nullopt, Attempt(1), base}, WallTime()).value();
    key_ = round.key;
    ASSERT_TRUE(store_.move_round({key_, RoundState::selecting, RoundState::collecting, "", 1}, WallTime()).value());
    blob_ = static_cast<BlobStore&>(partials_).put(as_bytes("a sum")).value();
    RoundTotals totals;
    totals.updates = totals.weight = 1;
    ASSERT_TRUE(std::holds_alternative<BatchDone>(
        store_.accept_batch({"node/1", key_, totals, blob_}, std::vector<AcceptRow>(1))));
  }
  void fail_round() {
    ASSERT_TRUE(store_.move_round({key_, RoundState::collecting, RoundState::failed, "", 1}, WallTime()).value());
  }
  bool is_there() { return partials_.open(blob_).has_value(); }
  size_t rows() { return store_.list_finished_partials(10).value().size(); }

  MemoryTrainingStore store_;
  StubbornBlobs partials_;
  RoundKey key_;
  Digest blob_;
};

TEST_F(FinishedPartials, GoWithTheirRows) {
  remove_finished_partials(store_, partials_);
  EXPECT_TRUE(is_there()) << "the round is not over";
  fail_round();
  EXPECT_EQ(rows(), 1u);
  remove_finished_partials(store_, partials_);
  EXPECT_FALSE(is_there());
  EXPECT_EQ(rows(), 0u);
}

TEST_F(FinishedPartials, KeepARowAsLongAsTheBlobIsThere) {
  fail_round();
  partials_.is_stubborn = true;
  remove_finished_partials(store_, partials_);
  EXPECT_TRUE(is_there());
  EXPECT_EQ(rows(), 1u);
  partials_.is_stubborn = false;
  remove_finished_partials(store_, partials_);
  EXPECT_EQ(rows(), 0u);
}

}  // namespace
}  // namespace coterie
