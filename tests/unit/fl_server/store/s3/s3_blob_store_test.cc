// What S3BlobStore promises beyond the suite of all blob stores.
#include "fl_server/store/s3/s3_blob_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/file.h"
#include "tests/unit/fl_server/store/blob_store_conformance.h"
#include "tests/unit/fl_server/store/s3/s3_blobs.h"

namespace coterie::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Blobs, BlobStoreConformance, S3Blobs, BlobBackendNames);

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

class S3BlobStoreTest : public testing::Test {
 protected:
  BlobStore& store() { return blobs_.store(); }
  S3Double& service() { return blobs_.service(); }
  int requests(const std::string& method) { return state_of(service())["requests"].value(method, 0); }
  int uploads() { return state_of(service())["uploads"]; }
  int objects() { return state_of(service())["objects"]; }
  std::vector<std::string> spooled() {
    return os::list_directory(blobs_.spool()).value_or(std::vector<std::string>({"?"}));
  }

  S3Blobs blobs_;
};

TEST_F(S3BlobStoreTest, PutsSmallBlobsAtOnceAndLargeOnesInParts) {
  for (const uint64_t size : {kSmallPart, kSmallPart + 1, 3 * kSmallPart, 3 * kSmallPart + 17}) {
    const int puts = requests("PUT"), posts = requests("POST");
    const Bytes blob = counting(size);
    const Result<Digest> digest = store().put(blob);
    ASSERT_OK(digest);
    const int parts = static_cast<int>((size + kSmallPart - 1) / kSmallPart);
    EXPECT_EQ(requests("PUT") - puts, parts);
    EXPECT_EQ(requests("POST") - posts, parts > 1 ? 2 : 0);
    EXPECT_EQ(store().get(*digest, size).value_or(Bytes()), blob);
  }
  EXPECT_EQ(uploads(), 0);
  EXPECT_THAT(spooled(), IsEmpty());
}

TEST_F(S3BlobStoreTest, NamesObjectsByPrefixAndDigest) {
  const Digest digest = *store().put(as_bytes("x"));
  EXPECT_EQ(blobs_.client().head("test/blobs/" + digest.hex())->size, 1u);
  const auto other = S3BlobStore::open_bucket(
      std::make_shared<s3::S3Client>(service().settings(), service().credentials(), [] { return os::wall_now(); }),
      "test/partials/", blobs_.spool() + "-other");
  ASSERT_OK(other);
  EXPECT_THAT(*(*other)->list(Millis(0)), IsEmpty());
  EXPECT_ERROR((*other)->open(digest), ErrorCode::not_found, digest.hex());
}

TEST_F(S3BlobStoreTest, OverlooksObjectsThatAreNoBlobs) {
  ASSERT_OK(blobs_.client().put("test/blobs/README", as_bytes("x")));
  const Digest digest = *store().put(as_bytes("x"));
  EXPECT_THAT(*store().list(Millis(0)), ElementsAre(digest));
}

TEST_F(S3BlobStoreTest, ListsPageByPage) {
  std::vector<Digest> put;
  for (size_t i = 0; i < 10; ++i) put.push_back(*store().put(counting(i)));
  EXPECT_THAT(*store().list(Millis(0)), UnorderedElementsAreArray(put)) << "pages have three";
}

TEST_F(S3BlobStoreTest, ReadsAheadSoThatSmallReadsAskSeldom) {
  const Bytes blob = counting(2 * kReadAheadBytes + 1000);
  const auto reader = store().open(*store().put(blob));
  ASSERT_OK(reader);
  const int before = requests("GET");
  Bytes read, piece(10'000);
  for (uint64_t at = 0; at < blob.size(); at += piece.size()) {
    const std::span<uint8_t> into = std::span(piece).first(std::min<uint64_t>(piece.size(), blob.size() - at));
    ASSERT_OK((*reader)->read_at(at, into));
    read.insert(read.end(), into.begin(), into.end());
  }
  EXPECT_EQ(read, blob);
  EXPECT_EQ(requests("GET") - before, 3);
}

TEST_F(S3BlobStoreTest, FindsTheBucketOrSaysWhatIsWrongWithIt) {
  S3Settings settings = service().settings();
  settings.bucket = "other-bucket";
  EXPECT_ERROR(S3BlobStore::open_bucket(client_of(service(), settings), "blobs/", blobs_.spool() + "-2"),
               ErrorCode::unavailable, "create the bucket");
}

TEST_F(S3BlobStoreTest, RemovesWhatADeadProcessSpooled) {
  ASSERT_OK(os::write_file_atomically(blobs_.spool() + "/blob.unfinished.3", counting(9)));
  blobs_.reopen();
  EXPECT_THAT(spooled(), IsEmpty());
}

TEST_F(S3BlobStoreTest, MakesUrlsForBlobs) {
  const Digest digest = *store().put(as_bytes("hello"));
  const Result<std::string> url = blobs_.s3().presign(digest, Millis(60'000));
  ASSERT_OK(url);
  s3::HttpsPool anybody(service().ca_file(), Millis(20'000));
  const auto reply = anybody.send({.method = "GET", .url = *url, .headers = {}, .body = {}, .answer_bytes_max = 100});
  ASSERT_OK(reply);
  EXPECT_EQ(as_text(reply->body), "hello");
  for (const int64_t ms : {999, -1, 604'801'000}) {
    EXPECT_ERROR(blobs_.s3().presign(digest, Millis(ms)), ErrorCode::invalid_argument, "7 days");
  }
}

// ---- What goes wrong.

TEST_F(S3BlobStoreTest, HasABlobOnlyWhenTheStoreHasSaidSo) {
  const Bytes small = counting(100), large = counting(3 * kSmallPart);
  for (const Bytes& blob : {small, large}) {
    service().faults(R"([{"method": "PUT", "times": 1000, "kind": "internal"}])");
    EXPECT_ERROR(store().put(blob), ErrorCode::unavailable, "500");
    service().faults("[]");
    EXPECT_ERROR(store().open(content_digest(blob)), ErrorCode::not_found, "");
    EXPECT_EQ(uploads(), 0) << "what was begun is aborted";
    EXPECT_THAT(spooled(), IsEmpty());
    EXPECT_OK(store().put(blob));
  }
}

TEST_F(S3BlobStoreTest, KnowsThatAnUploadWasCompletedThoughTheAnswerWasLost) {
  const Bytes blob = counting(3 * kSmallPart);
  service().faults(R"([{"method": "POST", "match": "uploadId", "times": 1, "kind": "lost"}])");
  const Result<Digest> digest = store().put(blob);
  ASSERT_OK(digest);
  EXPECT_EQ(store().get(*digest, blob.size()).value_or(Bytes()), blob);
  EXPECT_EQ(uploads(), 0);
}

TEST_F(S3BlobStoreTest, DoesNotTakeAPartThatBecameAnother) {
  const Bytes blob = counting(3 * kSmallPart);
  service().faults(R"([{"method": "PUT", "match": "partNumber=2", "times": 1, "kind": "wrong_etag"}])");
  EXPECT_ERROR(store().put(blob), ErrorCode::data_loss, "InvalidPart");
  EXPECT_EQ(uploads(), 0);
  EXPECT_EQ(objects(), 0);
  service().faults(R"([{"method": "PUT", "times": 2, "kind": "mangle"}])");
  const Result<Digest> digest = store().put(blob);
  ASSERT_OK(digest) << "the store finds it out, and gets it again";
  EXPECT_EQ(store().get(*digest, blob.size()).value_or(Bytes()), blob);
}

TEST_F(S3BlobStoreTest, GivesBytesThatAWrongDigestTells) {
  const Bytes blob = counting(1'000);
  const Digest digest = *store().put(blob);
  service().faults(R"([{"method": "GET", "times": 1, "kind": "corrupt"}])");
  const Result<Bytes> read = store().get(digest, 1'000);
  ASSERT_OK(read);
  EXPECT_NE(content_digest(*read), digest) << "who reads checks, as with a file whose disk lies";
}

TEST_F(S3BlobStoreTest, FailsToReadOnAfterTheBlobIsRemovedOrReplaced) {
  const Bytes blob = counting(2 * kReadAheadBytes);
  const Digest digest = *store().put(blob);
  const auto reader = store().open(digest);
  ASSERT_OK(reader);
  Bytes into(10);
  ASSERT_OK((*reader)->read_at(0, into));
  ASSERT_OK(blobs_.client().put("test/blobs/" + digest.hex(), Bytes(2 * kReadAheadBytes, 7)));
  EXPECT_ERROR((*reader)->read_at(kReadAheadBytes, into), ErrorCode::data_loss, "another now");
  ASSERT_OK(store().remove(digest));
  EXPECT_ERROR((*reader)->read_at(kReadAheadBytes, into), ErrorCode::not_found, "");
}

TEST_F(S3BlobStoreTest, StopsInTheMiddleWhenItIsCancelled) {
  Result<std::unique_ptr<BlobWriter>> writer = store().create();
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->append(counting(10)));
  blobs_.client().cancel();
  EXPECT_ERROR((*writer)->finish(), ErrorCode::cancelled, "");
}

}  // namespace
}  // namespace coterie::test
