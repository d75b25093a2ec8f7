// What a device keeps of its day: through `kill -9` at each write, through damage, and through the end of a process.
#include "device_sdk/agent/work_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/os/crash_point.h"
#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {
namespace {

const WallTime kToday = wall_time_from_unix_ms(20'000ll * 86'400'000);
const DailyLimits kLimits{.work = {.cpu_us = 1'000, .upload_bytes = 1'000, .download_bytes = 1'000}};

class WorkMeterTest : public testing::Test {
 protected:
  WorkMeter open(const DailyLimits& limits = kLimits) const {
    Result<WorkMeter> meter = WorkMeter::open(directory_.path(), limits, kToday);
    EXPECT_OK(meter);
    return *std::move(meter);
  }
  bool is_kept() const { return os::exists(directory_ / "day.spent"); }

  TemporaryDirectory directory_;
};

TEST_F(WorkMeterTest, ChargesBeforeItIsSpentSoThatAKillCountsTooMuch) {
  WorkMeter meter = open();
  ASSERT_OK(meter.reserve({.cpu_us = 400, .upload_bytes = 10}, kToday));
  EXPECT_EQ(open().left(kToday), (WorkAmount{600, 990, 1'000}));
  meter.settle({.cpu_us = 400, .upload_bytes = 10}, {.cpu_us = 100, .upload_bytes = 10});
  EXPECT_EQ(open().left(kToday), (WorkAmount{600, 990, 1'000})) << "not yet given back";
  ASSERT_OK(meter.reserve({.cpu_us = 50}, kToday));
  EXPECT_EQ(open().left(kToday), (WorkAmount{850, 990, 1'000}));
  meter.settle({.cpu_us = 50}, {});
  ASSERT_OK(meter.keep());
  EXPECT_EQ(open().left(kToday), (WorkAmount{900, 990, 1'000}));
}

TEST_F(WorkMeterTest, SaysOnceWhatItRefused) {
  WorkMeter meter = open();
  EXPECT_ERROR(meter.reserve({.cpu_us = 1'001}, kToday), ErrorCode::refused, "held back");
  const std::optional<Error> refusal = meter.take_refusal();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason(), "cpu_budget");
  EXPECT_FALSE(meter.take_refusal());
  EXPECT_FALSE(is_kept());
}

TEST_F(WorkMeterTest, WithoutALimitReadsAndWritesNothing) {
  ASSERT_OK(os::write_file_atomically(directory_ / "day.spent", as_bytes(std::string_view("litter"))));
  WorkMeter meter = open({});
  ASSERT_OK(meter.reserve({1, 1, 1}, kToday));
  meter.settle({1, 1, 1}, {});
  ASSERT_OK(meter.keep());
  EXPECT_EQ(os::read_file(directory_ / "day.spent", 100)->size(), 6u);
}

TEST_F(WorkMeterTest, TakesADayWhoseFileIsDamagedForSpentAndGoesOnTomorrow) {
  ASSERT_OK(open().reserve({.cpu_us = 1}, kToday));
  const Bytes whole = *os::read_file(directory_ / "day.spent", 100);
  ASSERT_EQ(whole.size(), 72u);
  std::vector<Bytes> damaged = {{}, Bytes(whole.begin(), whole.end() - 1), Bytes(73), Bytes(1000)};
  for (size_t i = 0; i < whole.size(); ++i) {
    damaged.push_back(whole);
    damaged.back()[i] ^= 1;
  }
  for (const Bytes& bytes : damaged) {
    ASSERT_OK(os::write_file_atomically(directory_ / "day.spent", bytes));
    WorkMeter meter = open();
    EXPECT_EQ(meter.left(kToday), WorkAmount{});
    EXPECT_EQ(meter.left(kToday + std::chrono::days(1)), kLimits.work);
  }
}

// Spends all it may in pieces of 100, and says on standard error each that it is about to spend.
void spend(const std::string& directory, const std::string& point) {
  if (!os::arm_crash_point(point)) std::exit(1);
  Result<WorkMeter> meter = WorkMeter::open(directory, kLimits, kToday);
  if (!meter) std::exit(1);
  while (meter->reserve({.cpu_us = 100}, kToday)) {
    std::fprintf(stderr, "spent ");
    meter->settle({.cpu_us = 100}, {.cpu_us = 100});
  }
  std::fprintf(stderr, "refused");
  std::exit(0);
}

size_t count_of(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// A device that is killed at each step of each write, started again every time, has never spent more than its budget.
TEST(WorkMeterDeathTest, SpendsNeverMoreThanADayThoughItIsKilledAtEachWrite) {
  for (const std::string step : {"created", "written", "synced", "renamed", "durable"}) {
    const TemporaryDirectory directory;
    size_t spent = 0, kills = 0;
    for (bool is_refused = false; !is_refused;) {
      ASSERT_LT(kills, 40u);
      std::string said;
      const auto hear = [&](int status) {
        is_refused = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        kills += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        return is_refused || WIFSIGNALED(status);
      };
      const auto note = testing::Truly([&](const std::string& text) {
        said = text;
        return true;
      });
      EXPECT_EXIT(spend(directory.path(), "day_spent." + step + ":2"), hear, note);
      spent += count_of(said, "spent ");
    }
    EXPECT_LE(spent, 10u) << step;
    EXPECT_GE(spent, 4u) << step << ": it is of use, too";
    EXPECT_GE(kills, 3u) << step;
  }
}

}  // namespace
}  // namespace coterie::test
