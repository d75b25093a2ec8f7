// Only what lies in the folder is read, whatever links and names there are.
#include "tools/console/folder_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FolderFilesTest : public ::testing::Test {
 protected:
  void write(const std::string& at, std::string_view text) {
    fs::create_directories(fs::path(directory_ / at).parent_path());
    ASSERT_OK(os::write_file_atomically(directory_ / at, as_bytes(text)));
  }
  FolderFiles open(const std::string& folder) { return FolderFiles::open(directory_ / folder).value(); }

  test::TemporaryDirectory directory_{test::memory_disk()};
};

TEST_F(FolderFilesTest, ReadsPlainFilesOfTheFolderUpToASize) {
  write("runs/a/metrics.csv", "round\n");
  const FolderFiles files = open("runs");
  EXPECT_EQ(files.name(), "runs");
  EXPECT_THAT(files.folders(""), ElementsAre("a"));
  EXPECT_THAT(files.files("a"), ElementsAre("metrics.csv"));
  const Result<Bytes> read = files.read("a/metrics.csv", 6);
  ASSERT_OK(read);
  EXPECT_EQ(as_text(*read), "round\n");
  EXPECT_ERROR(files.read("a/metrics.csv", 5), ErrorCode::too_large, "6 bytes");
  EXPECT_ERROR(files.read("a/summary.json", 5), ErrorCode::not_found, "no such plain file");
  EXPECT_ERROR(files.read("a", 5), ErrorCode::not_found, "no such plain file");
  EXPECT_OK(files.modified("a"));
}

TEST_F(FolderFilesTest, FollowsNoLinkAndNoWayOut) {
  write("secret/summary.json", "{}");
  write("runs/a/metrics.csv", "");
  fs::create_directory_symlink(directory_ / "secret", directory_ / "runs/linked");
  fs::create_symlink(directory_ / "secret/summary.json", directory_ / "runs/a/summary.json");
  const FolderFiles files = open("runs");
  EXPECT_THAT(files.folders(""), ElementsAre("a"));
  EXPECT_THAT(files.folders("linked"), IsEmpty());
  EXPECT_THAT(files.files("linked"), IsEmpty());
  EXPECT_THAT(files.files("a"), ElementsAre("metrics.csv")) << "a link is no file";
  for (const char* out : {"a/summary.json", "linked/summary.json", "../secret/summary.json",
                          "a/../../secret/summary.json", "/etc/passwd", "./a/metrics.csv"}) {
    EXPECT_FALSE(files.has(out)) << out;
    EXPECT_ERROR(files.read(out, 1 << 20), ErrorCode::not_found, "no such plain file") << out;
    EXPECT_FALSE(files.modified(out)) << out;
  }
}

TEST_F(FolderFilesTest, DoesNotWaitForAPipe) {
  write("runs/a/metrics.csv", "");
  ASSERT_EQ(::mkfifo((directory_ / "runs/a/summary.json").c_str(), 0600), 0);
  EXPECT_ERROR(open("runs").read("a/summary.json", 1), ErrorCode::not_found, "no such plain file");
}

TEST_F(FolderFilesTest, MayItselfBeNamedByALink) {
  write("runs/metrics.csv", "x");
  fs::create_directory_symlink(directory_ / "runs", directory_ / "latest");
  EXPECT_OK(open("latest").read("metrics.csv", 1));
  EXPECT_ERROR(FolderFiles::open(directory_ / "none"), ErrorCode::not_found, "no such folder");
  EXPECT_ERROR(FolderFiles::open(directory_ / "runs/metrics.csv"), ErrorCode::not_found, "no such folder");
}

}  // namespace
}  // namespace coterie
