#include "fl_server/app/file_rotation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

class FileRotationTest : public testing::Test {
 protected:
  void write(const std::string& name, std::string_view text) {
    ASSERT_OK(os::write_file_atomically(directory_ / name, as_bytes(text)));
  }
  RotatedFiles files(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(directory_ / name);
    return {"test", paths, [this] {
              ++taken_;
              return refuse_ ? Status(Error(ErrorCode::invalid_argument, "no")) : Status();
            }};
  }
  test::TemporaryDirectory directory_;
  int taken_ = 0;
  bool refuse_ = false;
};

TEST_F(FileRotationTest, TakesWhatIsOtherOnceAndNothingElse) {
  write("a", "1");
  write("b", "1");
  FileRotation rotation({files({"a", "b"})});
  EXPECT_EQ(rotation.look(), 0u);
  write("b", "1");
  EXPECT_EQ(rotation.look(), 0u) << "the same bytes in another file";
  write("b", "2");
  EXPECT_EQ(rotation.look(), 1u);
  EXPECT_EQ(rotation.look(), 0u);
  ASSERT_OK(os::remove_file(directory_ / "a"));
  EXPECT_EQ(rotation.look(), 1u) << "who takes them says what that means";
  EXPECT_EQ(taken_, 2);
}

TEST_F(FileRotationTest, TriesWhatWasRefusedAgainWhenItIsOther) {
  write("a", "1");
  FileRotation rotation({files({"a"})});
  refuse_ = true;
  write("a", "2");
  EXPECT_EQ(rotation.look(), 0u);
  EXPECT_EQ(rotation.look(), 0u);
  EXPECT_EQ(taken_, 1) << "and is logged once";
  refuse_ = false;
  write("a", "3");
  EXPECT_EQ(rotation.look(), 1u);
}

TEST_F(FileRotationTest, KeepsTwoFilesApart) {
  write("a", "12");
  write("b", "3");
  FileRotation rotation({files({"a", "b"})});
  write("a", "1");
  write("b", "23");
  EXPECT_EQ(rotation.look(), 1u);
}

TEST_F(FileRotationTest, LooksByItself) {
  write("a", "1");
  std::atomic<int> taken{0};
  FileRotation rotation({{"test", {directory_ / "a"}, [&taken] {
                            ++taken;
                            return Status();
                          }}});
  rotation.start(Millis(1));
  write("a", "2");
  const Instant until = os::monotonic_now() + Millis(30'000);
  while (taken == 0 && os::monotonic_now() < until) std::this_thread::yield();
  rotation.stop();
  EXPECT_EQ(taken, 1);
}

}  // namespace
}  // namespace coterie
