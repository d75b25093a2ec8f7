// A real server on a disk that fails at each of its writes in turn: nothing is acknowledged that is not durable, and it
// goes on by itself as soon as the disk does.
#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "base/os/file.h"
#include "tests/chaos/disk_control.h"
#include "tests/chaos/scene.h"
#include "tests/chaos/stride.h"
#include "tests/support/matchers.h"

namespace coterie::chaos {
namespace {

constexpr std::array kErrors = {ENOSPC, EIO, 0};

std::string error_name(int error) { return error == 0 ? "a short write" : error == EIO ? "EIO" : "ENOSPC"; }

class DiskFaults : public Scene {
 protected:
  void SetUp() override {
    auto disk = DiskControl::make(directory_ / "disk", directory_ / "data");
    ASSERT_OK(disk);
    disk_.emplace(std::move(*disk));
  }
  void begin_scene() {
    ASSERT_OK(start(disk_->environment()));
    begin();
    ASSERT_TRUE(wait_for_rounds(1));
    pid_ = server_->pid();
  }
  bool wait_for_strikes(uint64_t count) {
    const Instant until = os::monotonic_now() + kPatience;
    while (disk_->strikes() < count && os::monotonic_now() < until) audit_.wait_for_receipts(1);
    return disk_->strikes() >= count;
  }
  void expect_the_same_process() {
    EXPECT_FALSE(server_->ends_within(Millis(0))) << server_->log();
    EXPECT_EQ(server_->pid(), pid_);
  }

  std::optional<DiskControl> disk_;
  int pid_ = 0;
};

// Counts the operations of one round, then fails each of them with each error.
TEST_F(DiskFaults, EachWriteOfARoundMayFail) {
  begin_scene();
  const uint64_t before = disk_->count();
  constexpr uint64_t kDry = 4;
  ASSERT_TRUE(wait_for_rounds(kDry));
  const uint64_t sites = (disk_->count() - before) / kDry;
  ASSERT_GE(sites, 20u) << "a round writes a partial sum, a model, and the database several times";
  std::map<std::string, int> struck;
  uint64_t faults = 0;
  for (const int error : kErrors) {
    for (uint64_t site = 0; site < sites && !HasFailure(); site += stride(sites / 5 + 1), ++faults) {
      disk_->arm(site, error, error == 0 ? DISK_WRITE : DISK_ANY);
      ASSERT_TRUE(wait_for_strikes(faults + 1)) << "site " << site << " of " << sites << ", " << error_name(error);
      SCOPED_TRACE(error_name(error) + " at " + disk_->struck());
      ++struck[disk_->struck().substr(0, disk_->struck().find(' '))];
      ASSERT_TRUE(wait_for_rounds(2)) << server_->log();
    }
  }
  expect_the_same_process();
  std::printf("%llu operations a round, %llu faults:", static_cast<unsigned long long>(sites),
              static_cast<unsigned long long>(faults));
  for (const auto& [name, count] : struck) std::printf(" %d %s", count, name.c_str());
  std::printf(", %llu rounds done\n", static_cast<unsigned long long>(end()));
}

// Every write fails until it is told otherwise.
TEST_F(DiskFaults, ADiskThatFailsForAWhileHoldsTheRoundUp) {
  begin_scene();
  uint64_t strikes = 0;
  for (const uint32_t kinds : {uint32_t{DISK_ANY}, uint32_t{DISK_SYNC}, uint32_t{DISK_RENAME}, uint32_t{DISK_OPEN}}) {
    for (const int error : {ENOSPC, EIO}) {
      disk_->arm(7, error, kinds, true);
      ASSERT_TRUE(wait_for_strikes(strikes + 3));
      disk_->clear();
      strikes = disk_->strikes();
      SCOPED_TRACE(error_name(error) + " at " + disk_->struck());
      ASSERT_TRUE(wait_for_rounds(2)) << server_->log();
    }
  }
  expect_the_same_process();
  EXPECT_GE(end(), 16u);
}

// A fresh server whose n-th write fails says so and ends; the next start goes on from whatever it left.
TEST_F(DiskFaults, EachWriteOfAFirstStartMayFail) {
  ASSERT_OK(start(disk_->environment()));
  const uint64_t sites = disk_->count();
  ASSERT_GE(sites, 40u) << "keys, certificates, the database's tables, two blob directories";
  reap();
  uint64_t refused = 0, starts = 0;
  for (uint64_t site = 0; site < sites && !HasFailure(); site += stride(sites / 6 + 1), ++starts) {
    const int error = kErrors[starts % 2];
    server_.reset();
    std::filesystem::remove_all(directory_ / "data");
    disk_->arm(site, error);
    const Status started = start(disk_->environment());
    disk_->clear();
    SCOPED_TRACE(error_name(error) + " at " + disk_->struck());
    refused += !started;
    if (!started)
      EXPECT_NE(started.error().message().find("fl_server: "), std::string::npos) << started.error().message();
    reap();
    ASSERT_OK(start(disk_->environment()));
    reap();
  }
  std::printf("%llu operations of a first start, %llu tried, %llu starts refused\n",
              static_cast<unsigned long long>(sites), static_cast<unsigned long long>(starts),
              static_cast<unsigned long long>(refused));
  EXPECT_GE(refused, starts / 2);
}

}  // namespace
}  // namespace coterie::chaos
