// Rounds without end on one real server, with retention as short as it may be: what it has on disk, in memory and in
// descriptors is flat after the warm-up. By day so many rounds; at night for COTERIE_SOAK_MINUTES, 40 unless said.
//
// Printed: a line for each look.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "tests/chaos/scene.h"
#include "tests/chaos/stride.h"
#include "tests/support/matchers.h"
#include "tests/support/sanitizer.h"

namespace coterie::chaos {
namespace {

constexpr uint32_t kDevices = 10;
constexpr uint64_t kLooksMin = 24;
constexpr uint64_t kRoundsALook = 4;  // by day
constexpr int64_t kMinutes = kIsNight ? 40 : 0;
constexpr Millis kLookEvery{15'000};  // at night
constexpr uint64_t kMiB = 1 << 20;

struct Look {
  uint64_t rounds = 0;
  uint64_t seconds = 0;
  uint64_t disk_bytes = 0;
  uint64_t resident_bytes = 0;
  uint64_t descriptors = 0;
  uint64_t threads = 0;
};

// What is removed while it is counted does not count.
uint64_t bytes_below(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code gone;
  for (std::filesystem::recursive_directory_iterator entry(directory, gone), end; entry != end; entry.increment(gone)) {
    std::error_code ignored;
    const uint64_t size = entry->is_regular_file(ignored) ? entry->file_size(ignored) : 0;
    if (!ignored) bytes += size;
  }
  return bytes;
}

uint64_t entries_of(const std::string& directory) {
  std::error_code ignored;
  return static_cast<uint64_t>(std::distance(std::filesystem::directory_iterator(directory, ignored), {}));
}

Millis duration() {
  const char* const said = std::getenv("COTERIE_SOAK_MINUTES");
  return Millis(60'000 * (kIsNight && said != nullptr ? std::atoll(said) : kMinutes));
}

class Soak : public Scene {
 protected:
  Look look(Instant begin) {
    const std::string process = "/proc/" + std::to_string(server_->pid());
    return {.rounds = rounds_done().value_or(0),
            .seconds = static_cast<uint64_t>(
                std::chrono::duration_cast<std::chrono::seconds>(os::monotonic_now() - begin).count()),
            .disk_bytes = bytes_below(directory_ / "data"),
            .resident_bytes = server_->rss_bytes(),
            .descriptors = entries_of(process + "/fd"),
            .threads = entries_of(process + "/task")};
  }
  // Four records of the audit log.
  void write_audit() {
    const auto made = admin_->ask("POST", "/admin/v1/enrollment-tokens", {{"uses", 1}});
    ASSERT_OK(made);
    ASSERT_OK(admin_->call("DELETE", "/admin/v1/enrollment-tokens/" + (*made)["id"].get<std::string>()));
  }
};

// The most of the last third is no more than the most of the second, but for the slack: a saw is flat, a slope is not.
void expect_flat(const std::vector<Look>& looks, uint64_t Look::*what, uint64_t slack, const char* name) {
  const auto most = [&](size_t from, size_t to) {
    uint64_t found = 0;
    for (size_t i = from; i < to; ++i) found = std::max(found, looks[i].*what);
    return found;
  };
  const size_t third = looks.size() / 3;
  const uint64_t then = most(third, 2 * third), last = most(2 * third, looks.size());
  EXPECT_LE(last, then + slack) << name << " grows: " << then << ", then " << last;
}

TEST_F(Soak, NothingGrowsWhileDevicesTakePart) {
  // A file goes ten minutes after it was put, at the earliest (retention_plan.h): the first third of a night has that.
  // The seal of a file of the audit log stays for ever: a row for each so many records.
  config_ = R"("retention": {"models_kept": 3, "superseded_ms_min": 660000, "accepted_ms": 1000, "rounds_kept": 10,
         "rounds_ms_min": 1000, "audit_ms": 1000, "audit_segments_ms": 1000, "look_ms": 200, )" +
            std::string(kIsNight ? R"("audit_segment_records": 2000})" : R"("audit_segment_records": 10})");
  ASSERT_OK(start({"ASAN_OPTIONS=quarantine_size_mb=1"}));  // or freed memory stays, up to 256 MiB
  begin({.devices = kDevices});
  ASSERT_TRUE(has_begun());
  const Instant begin = os::monotonic_now();
  const Millis lasts = duration();
  std::vector<Look> looks;
  std::printf("seconds rounds disk_bytes resident_bytes descriptors threads\n");
  for (Instant next = begin; looks.size() < kLooksMin || os::monotonic_now() - begin < lasts; next += kLookEvery) {
    do {
      ASSERT_TRUE(wait_for_rounds(kRoundsALook));
      write_audit();
    } while (lasts > Millis(0) && os::monotonic_now() < next);
    looks.push_back(look(begin));
    const Look& now = looks.back();
    std::printf("%llu %llu %llu %llu %llu %llu\n", static_cast<unsigned long long>(now.seconds),
                static_cast<unsigned long long>(now.rounds), static_cast<unsigned long long>(now.disk_bytes),
                static_cast<unsigned long long>(now.resident_bytes), static_cast<unsigned long long>(now.descriptors),
                static_cast<unsigned long long>(now.threads));
    std::fflush(stdout);
  }
  // A file stays for minutes: how many there are follows the pace of those, which is a few hundredths up or down.
  const auto largest = std::ranges::max_element(looks, {}, &Look::disk_bytes);
  expect_flat(looks, &Look::disk_bytes, kMiB + largest->disk_bytes / 20, "what lies on disk");
  if (!test::kMemoryIsTheSanitizers) expect_flat(looks, &Look::resident_bytes, kMiB, "memory");
  expect_flat(looks, &Look::descriptors, 4, "the number of descriptors");  // of files that are being written
  expect_flat(looks, &Look::threads, 0, "the number of threads");
  EXPECT_TRUE(server_->wait_for_log("\"retention_removed\"", kPatience)) << "or nothing was to be removed";
  go_home();
}

}  // namespace
}  // namespace coterie::chaos
