// What every BlobStore must do. A test program instantiates it: INSTANTIATE_TYPED_TEST_SUITE_P(Blobs,
// BlobStoreConformance, ...) with the backends of blob_backends.h or its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

#include "secure/crypto/digest.h"
#include "tests/unit/fl_server/store/blob_backends.h"

namespace coterie::test {

inline Bytes counting(size_t size, uint8_t first = 0) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

template <typename Backend>
class BlobStoreConformance : public testing::Test {
 protected:
  BlobStore& store() { return backend_.store(); }
  std::vector<Digest> all() {
    const Result<std::vector<Digest>> listed = store().list(Millis(0));
    EXPECT_OK(listed);
    return listed.value_or(std::vector<Digest>());
  }
  Digest put(ByteView bytes) {
    const Result<Digest> digest = store().put(bytes);
    EXPECT_OK(digest);
    return digest.value_or(Digest());
  }

  Backend backend_;
};

TYPED_TEST_SUITE_P(BlobStoreConformance);

TYPED_TEST_P(BlobStoreConformance, GivesBackWhatWasPutUnderItsDigest) {
  for (const size_t size : {0u, 1u, 4096u, 100'000u}) {
    const Bytes blob = counting(size);
    const Digest digest = this->put(blob);
    EXPECT_EQ(digest, content_digest(blob));
    this->backend_.reopen();
    const Result<Bytes> got = this->store().get(digest, size);
    ASSERT_OK(got);
    EXPECT_EQ(*got, blob);
  }
}

TYPED_TEST_P(BlobStoreConformance, PutsTogetherWhatIsAppended) {
  const Bytes blob = counting(300'000);
  Result<std::unique_ptr<BlobWriter>> writer = this->store().create();
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->append({}));
  for (size_t at = 0; at < blob.size(); at += 7'001) {
    ASSERT_OK((*writer)->append(ByteView(blob).subspan(at, std::min<size_t>(7'001, blob.size() - at))));
  }
  const Result<Digest> digest = (*writer)->finish();
  ASSERT_OK(digest);
  EXPECT_EQ(*digest, content_digest(blob));
  EXPECT_EQ(this->store().get(*digest, blob.size()).value_or(Bytes()), blob);
}

TYPED_TEST_P(BlobStoreConformance, ReadsAnyRangeAndNothingBeyondTheEnd) {
  const Bytes blob = counting(1'000);
  const auto reader = this->store().open(this->put(blob));
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->size(), 1'000u);
  Bytes into(10);
  EXPECT_OK((*reader)->read_at(990, into));
  EXPECT_EQ(into, Bytes(blob.end() - 10, blob.end()));
  EXPECT_OK((*reader)->read_at(0, into));
  EXPECT_EQ(into, Bytes(blob.begin(), blob.begin() + 10));
  EXPECT_ERROR((*reader)->read_at(991, into), ErrorCode::data_loss, "");
  EXPECT_ERROR((*reader)->read_at(1'000, into), ErrorCode::data_loss, "");
  EXPECT_ERROR((*reader)->read_at(5'000, into), ErrorCode::data_loss, "");
  EXPECT_ERROR((*reader)->read_at(UINT64_MAX - 4, into), ErrorCode::data_loss, "");
  EXPECT_OK((*reader)->read_at(1'000, std::span<uint8_t>())) << "nothing is everywhere";
}

TYPED_TEST_P(BlobStoreConformance, LeavesNothingOfAnAbandonedWriter) {
  {
    Result<std::unique_ptr<BlobWriter>> writer = this->store().create();
    ASSERT_OK(writer);
    ASSERT_OK((*writer)->append(counting(5'000)));
  }
  EXPECT_THAT(this->all(), testing::IsEmpty());
  EXPECT_ERROR(this->store().open(content_digest(counting(5'000))), ErrorCode::not_found, "");
}

TYPED_TEST_P(BlobStoreConformance, KeepsTheSameBytesOnce) {
  const Digest first = this->put(counting(100));
  const Digest second = this->put(counting(100));
  EXPECT_EQ(first, second);
  EXPECT_THAT(this->all(), testing::ElementsAre(first));
  EXPECT_EQ(this->store().get(first, 100).value_or(Bytes()), counting(100));
}

TYPED_TEST_P(BlobStoreConformance, ListsAndRemoves) {
  const Digest a = this->put(counting(1)), b = this->put(counting(2));
  EXPECT_THAT(this->all(), testing::UnorderedElementsAre(a, b));
  ASSERT_OK(this->store().remove(a));
  EXPECT_OK(this->store().remove(a)) << "absent is fine";
  EXPECT_THAT(this->all(), testing::UnorderedElementsAre(b));
  EXPECT_ERROR(this->store().open(a), ErrorCode::not_found, a.hex());
  EXPECT_ERROR(this->store().get(a, 10), ErrorCode::not_found, a.hex());
}

TYPED_TEST_P(BlobStoreConformance, ListsWhatIsOldEnough) {
  const Millis hour(3'600'000);
  const Digest old = this->put(counting(1));
  this->backend_.grow_older(hour);
  const Digest fresh = this->put(counting(2));
  EXPECT_THAT(this->all(), testing::UnorderedElementsAre(old, fresh));
  EXPECT_THAT(*this->store().list(hour / 2), testing::ElementsAre(old));
  EXPECT_THAT(*this->store().list(hour * 2), testing::IsEmpty());
}

TYPED_TEST_P(BlobStoreConformance, CountsFromTheLastPutOfTheSameBytes) {
  const Millis hour(3'600'000);
  const Digest digest = this->put(counting(1));
  this->backend_.grow_older(hour);
  ASSERT_THAT(*this->store().list(hour / 2), testing::ElementsAre(digest));
  this->put(counting(1));
  EXPECT_THAT(*this->store().list(hour / 2), testing::IsEmpty()) << "whoever put it again is about to name it";
}

TYPED_TEST_P(BlobStoreConformance, RemovesWhatIsOldEnoughUnlessItIsPutAgain) {
  const Millis hour(3'600'000);
  const Digest digest = this->put(counting(1));
  const auto remove_aged = [&] { return *this->store().remove_put_before(digest, *this->store().now() - hour); };
  EXPECT_FALSE(remove_aged());
  this->backend_.grow_older(2 * hour);
  this->put(counting(1));
  EXPECT_FALSE(remove_aged()) << "whoever put it again is about to name it";
  EXPECT_THAT(this->all(), testing::ElementsAre(digest));
  this->backend_.grow_older(2 * hour);
  EXPECT_TRUE(remove_aged());
  EXPECT_THAT(this->all(), testing::IsEmpty());
  EXPECT_TRUE(remove_aged()) << "absent is fine";
  this->put(counting(1));
  EXPECT_THAT(this->all(), testing::ElementsAre(digest));
}

TYPED_TEST_P(BlobStoreConformance, CountsFromTheEndOfWriting) {
  const Millis hour(3'600'000);
  Result<std::unique_ptr<BlobWriter>> writer = this->store().create();
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->append(counting(5'000)));
  this->backend_.grow_older(hour);
  ASSERT_OK((*writer)->finish());
  EXPECT_THAT(*this->store().list(hour / 2), testing::IsEmpty());
}

TYPED_TEST_P(BlobStoreConformance, GetsNoMoreThanTheCallerAllows) {
  const Digest digest = this->put(counting(100));
  EXPECT_OK(this->store().get(digest, 100));
  EXPECT_ERROR(this->store().get(digest, 99), ErrorCode::too_large, digest.hex());
}

TYPED_TEST_P(BlobStoreConformance, IsForManyThreads) {
  constexpr size_t kThreads = 4, kBlobs = 8;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (size_t i = 0; i < kBlobs; ++i) {
        const Bytes own = counting(1'000 + t * kBlobs + i), shared = counting(10 + i);
        for (const Bytes* blob : {&own, &shared}) {
          const Digest digest = this->put(*blob);
          EXPECT_EQ(this->store().get(digest, blob->size()).value_or(Bytes()), *blob);
        }
        EXPECT_OK(this->store().remove(content_digest(own)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(this->all().size(), kBlobs);
}

TYPED_TEST_P(BlobStoreConformance, KnowsNothingThatWasNotPut) {
  EXPECT_THAT(this->all(), testing::IsEmpty());
  EXPECT_ERROR(this->store().open(Digest()), ErrorCode::not_found, Digest().hex());
  EXPECT_OK(this->store().remove(Digest()));
  Digest ones;
  ones.bytes.fill(0xff);
  EXPECT_ERROR(this->store().get(ones, 1), ErrorCode::not_found, ones.hex());
}

TYPED_TEST_P(BlobStoreConformance, PutsNothingAtAllAsABlobOfNoBytes) {
  Result<std::unique_ptr<BlobWriter>> writer = this->store().create();
  ASSERT_OK(writer);
  const Result<Digest> digest = (*writer)->finish();
  ASSERT_OK(digest);
  EXPECT_EQ(*digest, content_digest({}));
  this->backend_.reopen();
  const auto reader = this->store().open(*digest);
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->size(), 0u);
  EXPECT_OK((*reader)->read_at(0, std::span<uint8_t>()));
  Bytes one(1);
  EXPECT_ERROR((*reader)->read_at(0, one), ErrorCode::data_loss, "");
}

TYPED_TEST_P(BlobStoreConformance, ComesBackAfterItWasRemovedAndPutAgain) {
  const Digest digest = this->put(counting(100));
  ASSERT_OK(this->store().remove(digest));
  this->backend_.reopen();
  EXPECT_ERROR(this->store().open(digest), ErrorCode::not_found, "");
  EXPECT_EQ(this->put(counting(100)), digest);
  EXPECT_EQ(this->store().get(digest, 100).value_or(Bytes()), counting(100));
}

TYPED_TEST_P(BlobStoreConformance, WritersAtTheSameTimeDoNotMix) {
  constexpr size_t kWriters = 5;
  std::vector<std::unique_ptr<BlobWriter>> writers;
  std::vector<Bytes> blobs(kWriters);
  for (size_t i = 0; i < kWriters; ++i) writers.push_back(this->store().create().value());
  for (size_t turn = 0; turn < 20; ++turn) {
    for (size_t i = 0; i < kWriters; ++i) {
      const Bytes piece = counting(100 + turn * i, static_cast<uint8_t>(i));
      ASSERT_OK(writers[i]->append(piece));
      blobs[i].insert(blobs[i].end(), piece.begin(), piece.end());
    }
  }
  for (size_t i = kWriters; i-- > 0;) {
    const Result<Digest> digest = writers[i]->finish();
    ASSERT_OK(digest);
    EXPECT_EQ(this->store().get(*digest, blobs[i].size()).value_or(Bytes()), blobs[i]);
  }
  EXPECT_EQ(this->all().size(), kWriters);
}

TYPED_TEST_P(BlobStoreConformance, TwoWritersOfTheSameBytesMakeOneBlob) {
  const Bytes blob = counting(70'000);
  const std::unique_ptr<BlobWriter> first = this->store().create().value(), second = this->store().create().value();
  ASSERT_OK(first->append(blob));
  ASSERT_OK(second->append(ByteView(blob).first(1)));
  ASSERT_OK(second->append(ByteView(blob).subspan(1)));
  EXPECT_EQ(first->finish().value_or(Digest()), second->finish().value_or(Digest()));
  EXPECT_THAT(this->all(), testing::ElementsAre(content_digest(blob)));
}

TYPED_TEST_P(BlobStoreConformance, ListsEachOfManyOnce) {
  std::vector<Digest> put;
  for (size_t i = 0; i < 40; ++i) put.push_back(this->put(counting(i)));
  this->backend_.reopen();
  EXPECT_THAT(this->all(), testing::UnorderedElementsAreArray(put));
  for (size_t i = 0; i < 40; i += 2) ASSERT_OK(this->store().remove(put[i]));
  EXPECT_EQ(this->all().size(), 20u);
}

TYPED_TEST_P(BlobStoreConformance, BytesThatDifferInOneAreTwoBlobs) {
  Bytes one = counting(10'000), other = one;
  other.back() ^= 1;
  const Digest a = this->put(one), b = this->put(other);
  EXPECT_NE(a, b);
  ASSERT_OK(this->store().remove(a));
  EXPECT_EQ(this->store().get(b, other.size()).value_or(Bytes()), other);
}

TYPED_TEST_P(BlobStoreConformance, AReaderReadsInAnyOrderAsOftenAsItIsAsked) {
  const Bytes blob = counting(50'000);
  const auto reader = this->store().open(this->put(blob));
  ASSERT_OK(reader);
  uint64_t at = 49'999;
  for (int i = 0; i < 60; ++i) {
    at = (at * 31 + 7) % blob.size();
    Bytes into(std::min<uint64_t>(1'234, blob.size() - at));
    ASSERT_OK((*reader)->read_at(at, into));
    ASSERT_TRUE(std::equal(into.begin(), into.end(), blob.begin() + static_cast<std::ptrdiff_t>(at))) << at;
  }
}

TYPED_TEST_P(BlobStoreConformance, ManyThreadsReadOneBlob) {
  const Bytes blob = counting(30'000);
  const auto reader = this->store().open(this->put(blob));
  ASSERT_OK(reader);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t at = t * 1'000; at + 500 <= blob.size(); at += 2'500) {
        Bytes into(500);
        EXPECT_OK((*reader)->read_at(at, into));
        EXPECT_TRUE(std::equal(into.begin(), into.end(), blob.begin() + static_cast<std::ptrdiff_t>(at)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

REGISTER_TYPED_TEST_SUITE_P(BlobStoreConformance, GivesBackWhatWasPutUnderItsDigest, PutsTogetherWhatIsAppended,
                            ReadsAnyRangeAndNothingBeyondTheEnd, LeavesNothingOfAnAbandonedWriter,
                            KeepsTheSameBytesOnce, ListsAndRemoves, ListsWhatIsOldEnough,
                            RemovesWhatIsOldEnoughUnlessItIsPutAgain, CountsFromTheLastPutOfTheSameBytes,
                            CountsFromTheEndOfWriting, GetsNoMoreThanTheCallerAllows, IsForManyThreads,
                            KnowsNothingThatWasNotPut, PutsNothingAtAllAsABlobOfNoBytes,
                            ComesBackAfterItWasRemovedAndPutAgain, WritersAtTheSameTimeDoNotMix,
                            TwoWritersOfTheSameBytesMakeOneBlob, ListsEachOfManyOnce, BytesThatDifferInOneAreTwoBlobs,
                            AReaderReadsInAnyOrderAsOftenAsItIsAsked, ManyThreadsReadOneBlob);

}  // namespace coterie::test
