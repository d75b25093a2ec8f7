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

class DirectoryBlobStoreTest : public testing::Test {
 protected:
  DirectoryBlobStoreTest() { reopen(); }
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
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root()))
      count += entry.is_regular_file() ? 1 : 0;
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

TEST_F(DirectoryBlobStoreTest, NamesFilesByTheirDigest) {
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

// A process that dies between taking the name away and looking at the time had not decided.
TEST_F(DirectoryBlobStoreTest, GivesBackWhatADeadProcessWasRemoving) {
  const Bytes blob = counting(5'000);
  const Result<Digest> digest = store_->put(blob);
  ASSERT_OK(digest);
  ASSERT_OK(os::rename_file(path_of(*digest), root() + "/incoming/going-" + digest->hex()));
  ASSERT_ERROR(store_->open(*digest), ErrorCode::not_found, "");
  reopen();
  EXPECT_EQ(store_->get(*digest, blob.size()).value_or(Bytes()), blob);
  EXPECT_EQ(files(), 1u);
}

TEST_F(DirectoryBlobStoreTest, LeavesNothingOfAnAbandonedWriter) {
  {
    Result<std::unique_ptr<BlobWriter>> writer = store_->create();
    ASSERT_OK(writer);
    ASSERT_OK((*writer)->append(counting(5'000)));
    EXPECT_EQ(files(), 1u) << "under way";
  }
  EXPECT_EQ(files(), 0u);
  EXPECT_THAT(*store_->list(Millis(0)), IsEmpty());
}

TEST_F(DirectoryBlobStoreTest, KeepsTheSameBytesInOneFile) {
  const Digest first = *store_->put(counting(100));
  const Digest second = *store_->put(counting(100));
  EXPECT_EQ(first, second);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(*store_->get(first, 100), counting(100));
}

TEST_F(DirectoryBlobStoreTest, AsksTheFileSystemForTheTimeAndLeavesNothing) {
  const Digest digest = *store_->put(counting(1));
  EXPECT_THAT(*store_->list(Millis(1'000'000)), IsEmpty());
  EXPECT_EQ(files(), 1u);
  std::filesystem::last_write_time(path_of(digest),
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_THAT(*store_->list(Millis(1)), IsEmpty()) << "put in the future, says a clock that was set back";
  EXPECT_THAT(*store_->list(Millis(0)), UnorderedElementsAre(digest));
}

TEST_F(DirectoryBlobStoreTest, GoesOnReadingABlobThatIsRemoved) {
  const Digest digest = *store_->put(counting(100));
  const auto reader = store_->open(digest);
  ASSERT_OK(store_->remove(digest));
  Bytes into(100);
  EXPECT_OK((*reader)->read_at(0, into));
  EXPECT_EQ(into, counting(100));
}

TEST_F(DirectoryBlobStoreTest, RemovesWhatADeadProcessLeftUnfinished) {
  const Digest digest = *store_->put(counting(100));
  ASSERT_OK(os::write_file_atomically(root() + "/incoming/blob.unfinished.3", counting(9)));
  reopen();
  EXPECT_EQ(files(), 1u);
  EXPECT_OK(store_->get(digest, 100));
}

TEST_F(DirectoryBlobStoreTest, OverlooksFilesThatAreNoBlobs) {
  ASSERT_OK(os::write_file_atomically(root() + "/00/README", counting(9)));
  EXPECT_THAT(*store_->list(Millis(0)), IsEmpty());
}

TEST_F(DirectoryBlobStoreTest, SaysWhenTheDiskIsFullAndLeavesNothing) {
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
