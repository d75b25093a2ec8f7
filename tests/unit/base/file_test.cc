#include "base/os/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::os {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FileTest : public testing::Test {
 protected:
  std::vector<std::string> names() const { return *list_directory(directory_.path()); }
  std::string text_of(const std::string& name) const {
    const Result<Bytes> bytes = read_file(directory_ / name, 1 << 20);
    return bytes ? std::string(as_text(*bytes)) : "<" + bytes.error().message() + ">";
  }

  test::TemporaryDirectory directory_;
};

// Permission checks do not stop root; these tests step down where the kernel lets them.
class AsNobody {
 public:
  AsNobody() : stepped_down_(::geteuid() == 0 && ::seteuid(65534) == 0) {}
  ~AsNobody() {
    if (stepped_down_ && ::seteuid(0) != 0) std::abort();
  }
  bool is_unprivileged() const { return ::geteuid() != 0; }

 private:
  bool stepped_down_;
};

TEST_F(FileTest, WritesAtomicallyAndReadsBack) {
  EXPECT_OK(write_file_atomically(directory_ / "a", as_bytes("first")));
  EXPECT_EQ(text_of("a"), "first");
  EXPECT_OK(write_file_atomically(directory_ / "a", as_bytes("second, longer")));
  EXPECT_EQ(text_of("a"), "second, longer");
  EXPECT_OK(write_file_atomically(directory_ / "a", {}));
  EXPECT_EQ(text_of("a"), "");
  EXPECT_THAT(names(), ElementsAre("a")) << "no temporary is left";
}

TEST_F(FileTest, WritesFilesOnlyTheirOwnerCanRead) {
  ASSERT_OK(write_file_atomically(directory_ / "secret", as_bytes("k")));
  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(FileTest, KeepsTheOldContentUntilCommit) {
  ASSERT_OK(write_file_atomically(directory_ / "a", as_bytes("old")));
  Result<AtomicFile> file = AtomicFile::create(directory_ / "a");
  ASSERT_OK(file);
  ASSERT_OK(file->write(as_bytes("new, in two ")));
  ASSERT_OK(file->write(as_bytes("parts")));
  EXPECT_EQ(text_of("a"), "old");
  ASSERT_OK(file->commit());
  EXPECT_FALSE(file->file().is_open());
  EXPECT_EQ(text_of("a"), "new, in two parts");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(FileTest, LeavesNothingBehindWhenAbandoned) {
  ASSERT_OK(write_file_atomically(directory_ / "a", as_bytes("old")));
  {
    Result<AtomicFile> file = AtomicFile::create(directory_ / "a");
    ASSERT_OK(file);
    ASSERT_OK(file->write(as_bytes("half")));
    EXPECT_EQ(names().size(), 2u) << "the temporary lies beside its target: one file system, one rename";
    const AtomicFile moved = *std::move(file);
    EXPECT_EQ(names().size(), 2u) << "a move is not the end";
  }
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_EQ(text_of("a"), "old");
}

TEST_F(FileTest, LeavesNothingBehindWhenAssignedOver) {
  {
    Result<AtomicFile> first = AtomicFile::create(directory_ / "a");
    Result<AtomicFile> second = AtomicFile::create(directory_ / "b");
    ASSERT_OK(first);
    ASSERT_OK(second);
    ASSERT_OK(second->write(as_bytes("b")));
    *first = *std::move(second);
    EXPECT_OK(first->commit());
  }
  EXPECT_THAT(names(), ElementsAre("b"));
  EXPECT_EQ(text_of("b"), "b");
}

TEST_F(FileTest, GivesEachWriterItsOwnTemporary) {
  Result<AtomicFile> first = AtomicFile::create(directory_ / "a");
  Result<AtomicFile> second = AtomicFile::create(directory_ / "a");
  ASSERT_OK(first);
  ASSERT_OK(second);
  ASSERT_OK(first->write(as_bytes("first")));
  ASSERT_OK(second->write(as_bytes("second")));
  ASSERT_OK(second->commit());
  ASSERT_OK(first->commit());
  EXPECT_EQ(text_of("a"), "first") << "the last commit wins, whole";
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(FileTest, CommitsUnderANameChosenLate) {
  Result<AtomicFile> file = AtomicFile::create(directory_ / "incoming");
  ASSERT_OK(file);
  ASSERT_OK(file->write(as_bytes("x")));
  ASSERT_OK(file->commit_as(directory_ / "digest-of-x"));
  EXPECT_THAT(names(), ElementsAre("digest-of-x"));
}

TEST_F(FileTest, CommitsOnceOnly) {
  Result<AtomicFile> file = AtomicFile::create(directory_ / "a");
  ASSERT_OK(file);
  ASSERT_OK(file->write(as_bytes("x")));
  ASSERT_OK(file->commit());
  EXPECT_FALSE(file->commit());
  EXPECT_FALSE(file->write(as_bytes("y")));
  EXPECT_EQ(text_of("a"), "x");
}

// A caller that overlooks a failed write must not be able to publish half a file.
TEST_F(FileTest, RefusesToCommitAfterAFailedWrite) {
  Result<AtomicFile> file = AtomicFile::create(directory_ / "a");
  ASSERT_OK(file);
  ASSERT_OK(file->write(as_bytes("whole")));
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  ASSERT_GE(::dup2(full, file->file().fd()), 0);
  ::close(full);
  EXPECT_ERROR(file->write(as_bytes("more")), ErrorCode::storage_full, directory_ / "a");
  EXPECT_ERROR(file->commit(), ErrorCode::storage_full, directory_ / "a");
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(FileTest, RemovesItsTemporaryWhenTheCommitFails) {
  ASSERT_OK(make_directories(directory_ / "taken/by/a/directory"));
  Result<AtomicFile> file = AtomicFile::create(directory_ / "taken");
  ASSERT_OK(file);
  ASSERT_OK(file->write(as_bytes("x")));
  const Status done = file->commit();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find(directory_ / "taken"), std::string::npos) << done.error().message();
  EXPECT_THAT(names(), ElementsAre("taken"));
}

TEST_F(FileTest, SaysWhichKindOfErrorAndWhichPath) {
  EXPECT_ERROR(read_file(directory_ / "absent", 10), ErrorCode::not_found, directory_ / "absent");
  EXPECT_ERROR(write_file_atomically(directory_ / "absent/a", {}), ErrorCode::not_found, directory_ / "absent/a");
  EXPECT_ERROR(list_directory(directory_ / "absent"), ErrorCode::not_found, directory_ / "absent");
  EXPECT_ERROR(sync_directory(directory_ / "absent"), ErrorCode::not_found, directory_ / "absent");
  ASSERT_OK(write_file_atomically(directory_ / "a", as_bytes("x")));
  EXPECT_ERROR(File::create(directory_ / "a"), ErrorCode::conflict, directory_ / "a");
  EXPECT_ERROR(read_file(directory_ / "a/b", 10), ErrorCode::not_found, "Not a directory");
  EXPECT_ERROR(list_directory(directory_ / "a"), ErrorCode::not_found, "Not a directory");
  EXPECT_ERROR(read_file(directory_.path(), 1 << 20), ErrorCode::unavailable, "Is a directory");
}

TEST_F(FileTest, SaysWhenItIsNotAllowed) {
  ASSERT_OK(write_file_atomically(directory_ / "a", as_bytes("x")));
  ASSERT_EQ(::chmod((directory_ / "a").c_str(), 0), 0);
  const AsNobody nobody;
  if (!nobody.is_unprivileged()) GTEST_SKIP() << "cannot step down from root";
  EXPECT_ERROR(read_file(directory_ / "a", 10), ErrorCode::permission_denied, directory_ / "a");
}

TEST_F(FileTest, ReadsAtMostWhatTheCallerAllows) {
  ASSERT_OK(write_file_atomically(directory_ / "a", as_bytes("12345")));
  EXPECT_OK(read_file(directory_ / "a", 5));
  EXPECT_ERROR(read_file(directory_ / "a", 4), ErrorCode::too_large, "has 5 bytes, at most 4");
  ASSERT_OK(write_file_atomically(directory_ / "empty", {}));
  EXPECT_OK(read_file(directory_ / "empty", 0));
}

TEST_F(FileTest, ReadsExactlyAndCallsATruncatedFileDataLoss) {
  ASSERT_OK(write_file_atomically(directory_ / "a", as_bytes("0123456789")));
  const Result<File> file = File::open_read(directory_ / "a");
  ASSERT_OK(file);
  EXPECT_EQ(*file->size(), 10u);
  Bytes into(4);
  EXPECT_OK(file->read_exact_at(6, into));
  EXPECT_EQ(as_text(into), "6789");
  EXPECT_ERROR(file->read_exact_at(7, into), ErrorCode::data_loss, "ends 1 bytes too early");
  EXPECT_ERROR(file->read_exact_at(100, into), ErrorCode::data_loss, directory_ / "a");
  EXPECT_OK(file->read_exact_at(100, {})) << "nothing wanted, nothing missing";
}

TEST_F(FileTest, IsMoveOnlyAndClosesWhatItOwns) {
  Result<File> opened = File::create(directory_ / "a");
  ASSERT_OK(opened);
  const int fd = opened->fd();
  File first = *std::move(opened);
  EXPECT_FALSE(opened->is_open());
  File second;
  second = std::move(first);
  EXPECT_EQ(second.fd(), fd);
  EXPECT_EQ(second.path(), directory_ / "a");
  EXPECT_OK(second.close());
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1) << "closed";
  EXPECT_OK(second.close()) << "closing twice is nothing";
}

// /dev/full answers every write with ENOSPC: the mapping, without a full disk.
TEST_F(FileTest, CallsNoSpaceStorageFull) {
  const int fd = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (fd < 0) GTEST_SKIP() << "no /dev/full here";
  File file(fd, "/dev/full");
  EXPECT_ERROR(file.write_all(as_bytes("x")), ErrorCode::storage_full, "cannot write /dev/full");
}

TEST_F(FileTest, SurvivesARealFullDisk) {
  const std::string small = directory_ / "small";
  ASSERT_OK(make_directories(small));
  if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=16k") != 0) {
    GTEST_SKIP() << "cannot mount a tmpfs of four pages here (needs root): the mapping is tested with /dev/full";
  }
  {
    EXPECT_OK(write_file_atomically(small + "/kept", as_bytes("old")));
    EXPECT_ERROR(write_file_atomically(small + "/kept", Bytes(64 * 1024, 'x')), ErrorCode::storage_full, small);
    EXPECT_THAT(*list_directory(small), ElementsAre("kept")) << "the half-written temporary is gone";
    EXPECT_EQ(as_text(*read_file(small + "/kept", 100)), "old");
    EXPECT_OK(write_file_atomically(small + "/again", as_bytes("there is room again")));
  }
  EXPECT_EQ(::umount2(small.c_str(), MNT_DETACH), 0);
}

TEST_F(FileTest, SaysThatAReadOnlyDiskIsNotAllowed) {
  const std::string disk = directory_ / "disk";
  ASSERT_OK(make_directories(disk));
  if (::mount("tmpfs", disk.c_str(), "tmpfs", MS_RDONLY, "size=16k") != 0) GTEST_SKIP() << "cannot mount here";
  EXPECT_ERROR(write_file_atomically(disk + "/a", as_bytes("x")), ErrorCode::permission_denied, disk + "/a");
  EXPECT_ERROR(make_directories(disk + "/a"), ErrorCode::permission_denied, disk + "/a");
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST_F(FileTest, SaysWhenItCannotSync) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  File in(ends[0], "a pipe");
  File out(ends[1], "a pipe");
  EXPECT_ERROR(out.sync(), ErrorCode::unavailable, "cannot sync a pipe");
}

TEST_F(FileTest, MakesDirectoriesThatOnlyTheirOwnerEnters) {
  for (const char* there : {"", ".", "/"}) EXPECT_OK(make_directories(there));
  EXPECT_OK(make_directories(directory_ / "a/b//c/"));
  EXPECT_TRUE(exists(directory_ / "a/b/c"));
  EXPECT_OK(make_directories(directory_ / "a/b/c")) << "again is fine";
  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "a/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_OK(write_file_atomically(directory_ / "file", {}));
  EXPECT_ERROR(make_directories(directory_ / "file"), ErrorCode::conflict, "is not a directory");
  EXPECT_ERROR(make_directories(directory_ / "file/sub"), ErrorCode::conflict, "is not a directory");
}

TEST_F(FileTest, ListsSortedNamesWithoutDots) {
  EXPECT_THAT(names(), IsEmpty());
  for (const char* name : {"b", "a", ".hidden", "C"}) ASSERT_OK(write_file_atomically(directory_ / name, {}));
  ASSERT_OK(make_directories(directory_ / "d"));
  EXPECT_THAT(names(), ElementsAre(".hidden", "C", "a", "b", "d"));
}

TEST_F(FileTest, RemovesAFileAndAcceptsThatItIsGone) {
  ASSERT_OK(write_file_atomically(directory_ / "a", {}));
  EXPECT_TRUE(exists(directory_ / "a"));
  EXPECT_OK(remove_file(directory_ / "a"));
  EXPECT_FALSE(exists(directory_ / "a"));
  EXPECT_OK(remove_file(directory_ / "a"));
  EXPECT_FALSE(remove_file(directory_.path())) << "not for directories";
}

TEST_F(FileTest, KnowsWhenAFileWasWrittenOrTouched) {
  ASSERT_OK(write_file_atomically(directory_ / "a", {}));
  const std::filesystem::file_time_type written = std::filesystem::last_write_time(directory_ / "a");
  const Result<WallTime> before = modified(directory_ / "a");
  ASSERT_OK(before);
  const Result<File> file = File::open_read(directory_ / "a");
  ASSERT_OK(file);
  EXPECT_EQ(*file->modified(), *before);
  std::filesystem::last_write_time(directory_ / "a", written - std::chrono::hours(1));
  EXPECT_EQ(*before - *modified(directory_ / "a"), std::chrono::hours(1));
  ASSERT_OK(file->touch());
  EXPECT_GE(*modified(directory_ / "a"), *before);
  EXPECT_ERROR(modified(directory_ / "b"), ErrorCode::not_found, "/b");
}

TEST(ParentDirectory, IsWhatComesBeforeTheLastSlash) {
  EXPECT_EQ(parent_directory("a"), ".");
  EXPECT_EQ(parent_directory("a/b"), "a");
  EXPECT_EQ(parent_directory("/a"), "/");
  EXPECT_EQ(parent_directory("/a/b"), "/a");
}

}  // namespace
}  // namespace coterie::os
