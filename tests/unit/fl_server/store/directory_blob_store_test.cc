#include "fl_server/store/directory_blob_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <numeric>

#include "base/os/file.h"
#include "secure/crypto/digest.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

class BlobStoreTest : public testing::Test {
 protected:
  BlobStoreTest() { reopen(); }
  void reopen() {
    store_.reset();
    auto opened = DirectoryBlobStore::open_directory(root());
    ASSERT_OK(opened);
    store_ = std::move(*opened);
  }
  std::string root() const { return directory_ / "blobs"; }
  std::string path_of(const Digest& digest) const {
    return root() + "/" + digest.hex().substr(0, 2) + "/" + digest.hex();
  }
  size_t files() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root())) count += entry.is_regular_file() ? 1 : 0;
    return count;
  }

  test::TemporaryDirectory directory_{test::memory_disk()};
  std::unique_ptr<DirectoryBlobStore> store_;
};

Bytes counting(size_t size) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return bytes;
}

TEST_F(BlobStoreTest, GivesBackWhatWasPutUnderItsDigest) {
  for (const size_t size : {0u, 1u, 4096u, 100'000u}) {
    const Bytes blob = counting(size);
    const Result<Digest> digest = store_->put(blob);
    ASSERT_OK(digest);
    EXPECT_EQ(*digest, content_digest(blob));
    reopen();
    EXPECT_EQ(*store_->get(*digest, size), blob);
    EXPECT_TRUE(os::exists(path_of(*digest)));
  }
}

TEST_F(BlobStoreTest, PutsTogetherWhatIsAppended) {
  const Bytes blob = counting(300'000);
  Result<std::unique_ptr<BlobWriter>> writer = store_->create();
  ASSERT_OK(writer);
  for (size_t at = 0; at < blob.size(); at += 7'001) {
    ASSERT_OK((*writer)->append(ByteView(blob).subspan(at, std::min<size_t>(7'001, blob.size() - at))));
  }
  EXPECT_EQ(*(*writer)->finish(), content_digest(blob));
}

TEST_F(BlobStoreTest, ReadsAnyRangeAndNothingBeyondTheEnd) {
  const Bytes blob = counting(1'000);
  const auto reader = store_->open(*store_->put(blob));
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->size(), 1'000u);
  Bytes into(10);
  EXPECT_OK((*reader)->read_at(990, into));
  EXPECT_EQ(into, Bytes(blob.end() - 10, blob.end()));
  EXPECT_OK((*reader)->read_at(0, into));
  EXPECT_EQ(into, Bytes(blob.begin(), blob.begin() + 10));
  EXPECT_ERROR((*reader)->read_at(991, into), ErrorCode::data_loss, "too early");
  EXPECT_ERROR((*reader)->read_at(5'000, into), ErrorCode::data_loss, "too early");
}

TEST_F(BlobStoreTest, LeavesNothingOfAnAbandonedWriter) {
  {
    Result<std::unique_ptr<BlobWriter>> writer = store_->create();
    ASSERT_OK(writer);
    ASSERT_OK((*writer)->append(counting(5'000)));
    EXPECT_EQ(files(), 1u) << "under way";
  }
  EXPECT_EQ(files(), 0u);
  EXPECT_THAT(*store_->list(Millis(0)), IsEmpty());
}

TEST_F(BlobStoreTest, KeepsTheSameBytesOnce) {
  const Digest first = *store_->put(counting(100));
  const Digest second = *store_->put(counting(100));
  EXPECT_EQ(first, second);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(*store_->get(first, 100), counting(100));
}

TEST_F(BlobStoreTest, ListsAndRemoves) {
  const Digest a = *store_->put(counting(1)), b = *store_->put(counting(2));
  EXPECT_THAT(*store_->list(Millis(3'600'000)), IsEmpty()) << "of an hour ago there is none";
  EXPECT_THAT(*store_->list(Millis(0)), UnorderedElementsAre(a, b));
  ASSERT_OK(store_->remove(a));
  EXPECT_OK(store_->remove(a)) << "absent is fine";
  EXPECT_THAT(*store_->list(Millis(0)), UnorderedElementsAre(b));
  EXPECT_ERROR(store_->open(a), ErrorCode::not_found, a.hex());
  EXPECT_ERROR(store_->get(a, 10), ErrorCode::not_found, a.hex());
}

TEST_F(BlobStoreTest, GoesOnReadingABlobThatIsRemoved) {
  const Digest digest = *store_->put(counting(100));
  const auto reader = store_->open(digest);
  ASSERT_OK(store_->remove(digest));
  Bytes into(100);
  EXPECT_OK((*reader)->read_at(0, into));
  EXPECT_EQ(into, counting(100));
}

TEST_F(BlobStoreTest, GetsNoMoreThanTheCallerAllows) {
  const Digest digest = *store_->put(counting(100));
  EXPECT_OK(store_->get(digest, 100));
  EXPECT_ERROR(store_->get(digest, 99), ErrorCode::too_large, digest.hex());
}

TEST_F(BlobStoreTest, RemovesWhatADeadProcessLeftUnfinished) {
  const Digest digest = *store_->put(counting(100));
  ASSERT_OK(os::write_file_atomically(root() + "/incoming/blob.unfinished.3", counting(9)));
  reopen();
  EXPECT_EQ(files(), 1u);
  EXPECT_OK(store_->get(digest, 100));
}

TEST_F(BlobStoreTest, OverlooksFilesThatAreNoBlobs) {
  ASSERT_OK(os::write_file_atomically(root() + "/00/README", counting(9)));
  EXPECT_THAT(*store_->list(Millis(0)), IsEmpty());
}

TEST_F(BlobStoreTest, SaysWhenTheDiskIsFullAndLeavesNothing) {
  const std::string disk = directory_ / "disk";
  ASSERT_OK(os::make_directories(disk));
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k,nr_inodes=400") != 0) {
    GTEST_SKIP() << "cannot mount a tmpfs here (needs root)";
  }
  {
    auto store = DirectoryBlobStore::open_directory(disk + "/blobs");
    ASSERT_OK(store);
    const Result<Digest> kept = (*store)->put(counting(1'000));
    ASSERT_OK(kept);
    EXPECT_ERROR((*store)->put(counting(200'000)), ErrorCode::storage_full, "");
    Result<std::unique_ptr<BlobWriter>> writer = (*store)->create();
    ASSERT_OK(writer);
    EXPECT_FALSE((*writer)->append(counting(200'000)));
    EXPECT_ERROR((*writer)->finish(), ErrorCode::storage_full, "") << "a caller that overlooked the failed append";
    writer->reset();
    EXPECT_THAT(*(*store)->list(Millis(0)), UnorderedElementsAre(*kept));
    EXPECT_OK((*store)->put(counting(2'000))) << "the failed ones left their room";
  }
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace coterie
