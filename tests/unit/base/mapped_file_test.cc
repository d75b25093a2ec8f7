#include "base/os/mapped_file.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  void put(std::string_view text) { ASSERT_OK(os::write_file_atomically(path_, as_bytes(text))); }
  test::TemporaryDirectory directory_;
  std::string path_ = directory_ / "file";
};

TEST_F(MappedFileTest, HasTheBytesOfTheFileWhereverItIsMovedTo) {
  put("some bytes");
  auto first = os::MappedFile::open(path_, 10);
  ASSERT_OK(first);
  const ByteView view = first->bytes();
  os::MappedFile second = std::move(*first);
  EXPECT_EQ(as_text(second.bytes()), "some bytes");
  EXPECT_EQ(view.data(), second.bytes().data());
  EXPECT_TRUE(first->bytes().empty());
}

TEST_F(MappedFileTest, IsReadAsItWasWhenTheFileIsReplacedOrRemoved) {
  put("as it was");
  const auto file = os::MappedFile::open(path_, 100);
  ASSERT_OK(file);
  put("new");
  EXPECT_EQ(as_text(file->bytes()), "as it was");
  ASSERT_OK(os::remove_file(path_));
  EXPECT_EQ(as_text(file->bytes()), "as it was");
}

TEST_F(MappedFileTest, MayBeEmpty) {
  put("");
  const auto file = os::MappedFile::open(path_, 0);
  ASSERT_OK(file);
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(MappedFileTest, SaysWhichFileIsMissingOrTooLargeOrNoFile) {
  EXPECT_ERROR(os::MappedFile::open(path_, 1), ErrorCode::not_found, path_);
  put("12");
  EXPECT_ERROR(os::MappedFile::open(path_, 1), ErrorCode::too_large, path_ + " has 2 bytes, at most 1");
  EXPECT_ERROR(os::MappedFile::open(directory_.path(), 1 << 30), ErrorCode::unavailable,
               "cannot map " + directory_.path() + ": it is a folder");
}

}  // namespace
}  // namespace coterie
