// That a command's files are told apart however their paths are spelt.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tools/cli/distinct_files.h"

namespace coterie::test {
namespace {

TEST(DistinctFiles, AreComparedByWhereTheyLie) {
  const TemporaryDirectory folder;
  const std::string file = folder / "a.cotf", link = folder / "link.cotf", other = folder / "b.cotf";
  ASSERT_OK(os::write_file_atomically(file, as_bytes("a")));
  std::filesystem::create_symlink(file, link);
  EXPECT_OK(distinct_files({{"FILE", file}, {"--data", file}}, {{"-o", other}, {"--html", ""}}));
  for (const std::string& same : {file, folder / "./a.cotf", folder / "x/../a.cotf", link}) {
    EXPECT_ERROR(distinct_files({{"FILE", file}}, {{"-o", same}}), ErrorCode::invalid_argument,
                 "-o names a file that has another purpose");
  }
  EXPECT_ERROR(distinct_files({}, {{"-o", other}, {"--log", folder / "./b.cotf"}}), ErrorCode::invalid_argument,
               "--log names a file that has another purpose: ");
}

TEST(DistinctFiles, FilesInTheNameOfADataSetCount) {
  const TemporaryDirectory folder;
  const std::string table = folder / "t.csv";
  ASSERT_OK(os::write_file_atomically(table, as_bytes("a\n1\n")));
  EXPECT_ERROR(distinct_files({{"--data", "csv:" + table + "?target=a"}}, {{"-o", table}}), ErrorCode::invalid_argument,
               "is --data, too");
  EXPECT_ERROR(distinct_files({{"--data", "npy:x.npy," + table}}, {{"-o", table}}), ErrorCode::invalid_argument,
               "is --data, too");
  EXPECT_OK(distinct_files({{"--data", "digits"}, {"--run", ""}}, {{"-o", table}}));
}

// A data set that is a folder has no list of its files: nothing is written among them.
TEST(DistinctFiles, NothingIsWrittenIntoAFolderThatIsRead) {
  const TemporaryDirectory folder;
  ASSERT_OK(os::make_directories(folder / "data/deep"));
  for (const std::string& data : {folder / "data", "mnist:" + (folder / "data"), "mnist:" + (folder / "data/")}) {
    EXPECT_ERROR(distinct_files({{"--data", data}}, {{"-o", folder / "data/train-images"}}),
                 ErrorCode::invalid_argument, "-o names a file in a folder that is read");
    EXPECT_OK(distinct_files({{"--data", data}}, {{"-o", folder / "model.cotf"}, {"--html", folder / "page.html"}}));
    EXPECT_ERROR(distinct_files({{"--data", data}}, {{"-o", folder / "data"}}), ErrorCode::invalid_argument,
                 "another purpose");
  }
}

}  // namespace
}  // namespace coterie::test
