// Random operations on the model (a map in memory) and on an S3BlobStore whose service goes wrong now and
// then: what succeeded is the same on both, and what failed has changed nothing that anybody was told of.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "secure/crypto/digest.h"
#include "tests/support/memory_blob_store.h"
#include "tests/unit/fl_server/store/s3/s3_blobs.h"

namespace coterie::test {
namespace {

constexpr int kSteps = 250;

// They pass sooner than the client gives up.
constexpr const char* kPassing[] = {"slow_down", "internal", "reset", "lost", "cut", "mangle"};

class Differential : public testing::TestWithParam<uint64_t> {
 protected:
  Bytes random_blob() {
    constexpr uint64_t kSizes[] = {0, 1, 100, kSmallPart, kSmallPart + 1, 2 * kSmallPart, 2 * kSmallPart + 999};
    Bytes blob(kSizes[prng_.below(std::size(kSizes))]);
    Prng content(prng_.below(12));  // some are the same
    for (uint8_t& byte : blob) byte = static_cast<uint8_t>(content.next());
    return blob;
  }
  void disturb() {
    const std::string kind = kPassing[prng_.below(std::size(kPassing))];
    const uint64_t times = 1 + prng_.below(3);
    s3_.service().faults("[{\"times\": " + std::to_string(times) + ", \"kind\": \"" + kind + "\"}]");
  }
  Digest any() {
    if (known_.empty() || prng_.chance(0.1)) return content_digest(random_blob());
    return known_[prng_.below(known_.size())];
  }

  void put() {
    const Bytes blob = random_blob();
    const Result<Digest> expected = model_.put(blob), seen = s3_.store().put(blob);
    ASSERT_OK(seen);
    ASSERT_EQ(*seen, *expected);
    if (std::ranges::find(known_, *seen) == known_.end()) known_.push_back(*seen);
  }
  void get() {
    const Digest digest = any();
    const Result<Bytes> expected = model_.get(digest, 1 << 20), seen = s3_.store().get(digest, 1 << 20);
    ASSERT_EQ(seen.has_value(), expected.has_value()) << (seen ? "found" : seen.error().message());
    if (seen) ASSERT_EQ(*seen, *expected);
    if (!seen) ASSERT_EQ(seen.error().code(), expected.error().code()) << seen.error().message();
  }
  void read_range() {
    const Digest digest = any();
    const auto expected = model_.open(digest), seen = s3_.store().open(digest);
    ASSERT_EQ(seen.has_value(), expected.has_value());
    if (!seen) return;
    ASSERT_EQ((*seen)->size(), (*expected)->size());
    for (int i = 0; i < 4; ++i) {
      const uint64_t offset = prng_.below((*expected)->size() + 2);
      Bytes a(prng_.below(kSmallPart)), b(a.size());
      const Status in_model = (*expected)->read_at(offset, a), in_s3 = (*seen)->read_at(offset, b);
      ASSERT_EQ(in_s3.has_value(), in_model.has_value()) << offset << " + " << a.size();
      if (in_s3) ASSERT_EQ(b, a);
      if (!in_s3) ASSERT_EQ(in_s3.error().code(), in_model.error().code());
    }
  }
  void remove() {
    const Digest digest = any();
    ASSERT_OK(model_.remove(digest));
    ASSERT_OK(s3_.store().remove(digest));
  }
  void list() {
    const Millis age_min(static_cast<int64_t>(prng_.below(4)) * 3'600'000);
    Result<std::vector<Digest>> expected = model_.list(age_min), seen = s3_.store().list(age_min);
    ASSERT_OK(seen);
    std::ranges::sort(*expected);
    std::ranges::sort(*seen);
    ASSERT_EQ(*seen, *expected) << age_min.count() << " ms";
  }
  // By more than the seconds that the test itself takes, so that both sides agree on hours.
  void pass() {
    const Millis hour(3'600'000);
    model_.pass(hour + Millis(600'000));
    s3_.grow_older(hour + Millis(600'000));
  }

  Prng prng_{GetParam()};
  MemoryBlobStore model_;
  S3Blobs s3_;
  std::vector<Digest> known_;
};

TEST_P(Differential, IsTheSameAsTheModel) {
  for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()) + ", step " + std::to_string(step));
    if (prng_.chance(0.4)) disturb();
    const uint64_t what = prng_.below(20);
    if (what < 7) put();
    else if (what < 11) get();
    else if (what < 14) read_range();
    else if (what < 17) remove();
    else if (what < 19) list();
    else pass();
    s3_.service().faults("[]");
    if (prng_.chance(0.02)) s3_.reopen();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Differential, testing::Range<uint64_t>(1, 5));

}  // namespace
}  // namespace coterie::test
