#include "base/os/crash_point.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::os {
namespace {

TEST(CrashPoint, NamesAreManyAndDistinct) {
  const auto names = crash_point_names();
  EXPECT_GE(names.size(), 40u);
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(names[static_cast<size_t>(CrashPoint::accept_batch_after_commit)], "accept_batch.after_commit");
}

TEST(CrashPoint, ThatIsNotArmedDoesNothing) {
  for (size_t i = 0; i < crash_point_names().size(); ++i) crash_point(static_cast<CrashPoint>(i));
  EXPECT_OK(arm_crash_point(""));
  crash_point(CrashPoint::stop_done);
}

TEST(CrashPoint, OfAnotherNameOrNumberIsRefused) {
  EXPECT_ERROR(arm_crash_point("accept_batch"), ErrorCode::invalid_argument, "there is none of this name");
  EXPECT_ERROR(arm_crash_point(":1"), ErrorCode::invalid_argument, "there is none of this name");
  for (const char* number : {"", "0", "-1", "1x", "1000001", "99999999999"}) {
    EXPECT_ERROR(arm_crash_point(std::string("stop.done:") + number), ErrorCode::invalid_argument, "a number from 1");
  }
  crash_point(CrashPoint::stop_done);
}

// Each in a process of its own.
TEST(CrashPointDeathTest, KillsAtItsHitAndNotBefore) {
  EXPECT_EXIT(
      {
        if (!arm_crash_point("stop.done:3")) std::exit(1);
        for (int i = 0; i < 10; ++i) crash_point(CrashPoint::stop_begun);
        crash_point(CrashPoint::stop_done);
        crash_point(CrashPoint::stop_done);
        std::fprintf(stderr, "still here, ");
        crash_point(CrashPoint::stop_done);
        std::exit(2);
      },
      ::testing::KilledBySignal(SIGKILL), "still here, killed at crash point stop.done");
}

TEST(CrashPointDeathTest, OfAFileLeavesTheOldOneOrTheNewOne) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "file";
  for (const std::string step : {"created", "written", "synced", "renamed", "durable"}) {
    ASSERT_OK(write_file_atomically(path, as_bytes(std::string_view("old"))));
    EXPECT_EXIT(
        {
          if (!arm_crash_point("endpoints." + step)) std::exit(1);
          (void)write_file_atomically(path, as_bytes(std::string_view("other")), &crash::incarnation);
          (void)write_file_atomically(path, as_bytes(std::string_view("new")), &crash::endpoints);
          std::exit(2);
        },
        ::testing::KilledBySignal(SIGKILL), "killed at crash point endpoints." + step);
    const auto bytes = read_file(path, 100);
    ASSERT_OK(bytes);
    EXPECT_EQ(as_text(*bytes), step == "renamed" || step == "durable" ? "new" : "other") << step;
  }
}

}  // namespace
}  // namespace coterie::os
