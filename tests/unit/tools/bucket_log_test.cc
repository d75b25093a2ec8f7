#include "tools/vertical/bucket_log.h"

#include <gtest/gtest.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

KeptBuckets bucket(uint32_t number) {
  KeptBuckets kept{.matched = {.buckets = number, .buckets_all = 3, .peer_items = 10 * number, .rows = {number, 7}},
                   .heard = 2 * number};
  kept.matched.root.bytes[0] = static_cast<uint8_t>(number);
  return kept;
}

class BucketLogTest : public ::testing::Test {
 protected:
  Result<BucketLog> open() const { return BucketLog::open(file_); }

  test::TemporaryDirectory directory_{test::memory_disk()};
  const std::string file_ = directory_ / "buckets";
};

TEST_F(BucketLogTest, KnowsAgainWhatItKept) {
  {
    Result<BucketLog> log = open();
    ASSERT_OK(log);
    EXPECT_TRUE(log->newest().empty());
    for (const uint32_t number : {1u, 2u, 3u}) ASSERT_OK(log->put(bucket(number)));
  }
  Result<BucketLog> log = open();
  ASSERT_OK(log);
  EXPECT_EQ(log->newest(),
            (std::vector<vertical::CommittedUnit>{{2, bucket(2).matched.root}, {3, bucket(3).matched.root}}));
  EXPECT_EQ(log->behind(0)->matched, vertical::MatchedBuckets());
  const Result<KeptBuckets> behind = log->behind(2);
  ASSERT_OK(behind);
  KeptBuckets expected = bucket(2);
  expected.matched.rows = {1, 7, 2, 7};
  EXPECT_EQ(behind->matched, expected.matched);
  EXPECT_EQ(behind->heard, 4u);
}

TEST_F(BucketLogTest, ABucketThatIsDoneAgainMustComeOutTheSame) {
  Result<BucketLog> log = open();
  ASSERT_OK(log);
  ASSERT_OK(log->put(bucket(1)));
  ASSERT_OK(log->put(bucket(1)));
  EXPECT_EQ(log->newest().size(), 1u);
  KeptBuckets other = bucket(1);
  other.matched.root.bytes[9] = 1;
  EXPECT_ERROR(log->put(other), ErrorCode::data_loss, "bucket 1 of the matching came out otherwise");
}

TEST_F(BucketLogTest, ForgetsWhatWasCutOffWhileItWasWritten) {
  {
    Result<BucketLog> log = open();
    ASSERT_OK(log);
    for (const uint32_t number : {1u, 2u}) ASSERT_OK(log->put(bucket(number)));
  }
  const Result<Bytes> whole = os::read_file(file_, 1 << 20);
  ASSERT_OK(whole);
  for (size_t size = 0; size < whole->size(); ++size) {
    ASSERT_OK(os::write_file_atomically(file_, ByteView(*whole).first(size), os::Durability::process));
    Result<BucketLog> log = open();
    ASSERT_OK(log);
    const size_t kept = size < whole->size() / 2 ? 0 : 1;
    ASSERT_EQ(log->newest().size(), kept) << size;
    ASSERT_OK(log->put(bucket(static_cast<uint32_t>(kept + 1)))) << "it goes on there";
    EXPECT_EQ(BucketLog::open(file_)->newest().size(), kept + 1);
  }
}

}  // namespace
}  // namespace coterie
