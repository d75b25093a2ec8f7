// Rounds without end on one node: rows, bytes on disk, memory and descriptors are flat over the last half. By day a
// small one; the nightly has 100,000 rounds of 10 devices, ten virtual seconds each, with the settings of a server.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/fl_server/retention/retention_world.h"

namespace coterie {
namespace {

using test::RetentionWorld;
using test::WorldUse;

constexpr uint32_t kDevices = 10;
constexpr Millis kRound{10'000};
constexpr uint64_t kRoundsAPass = 6;
#ifdef COT_SOAK_NIGHTLY
constexpr uint64_t kRounds = 100'000;
constexpr RetentionSettings kSettings{
    .audit_kept = Millis(86'400'000), .audit_segment_records = 500, .audit_segments_kept = Millis(172'800'000)};
#else
constexpr uint64_t kRounds = 400;
constexpr RetentionSettings kSettings{.models_kept = 5,
                                      .superseded_min = Millis(600'000),
                                      .accepted_kept = Millis(900'000),
                                      .rounds_kept = 20,
                                      .rounds_kept_min = Millis(900'000),
                                      .audit_kept = Millis(900'000),
                                      .audit_segment_records = 10,
                                      .audit_segments_kept = Millis(900'000)};
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COT_MEMORY_IS_THE_SANITIZERS  // which keeps what was freed
#endif
#endif
constexpr uint64_t kLooks = 40;  // at what there is
constexpr uint64_t kSlackBytes = 4 << 20;

// The most over the least of the last half.
void expect_flat(const std::vector<WorldUse>& looks, uint64_t WorldUse::*what, uint64_t slack, const char* name) {
  const auto half = looks.begin() + static_cast<std::ptrdiff_t>(looks.size() / 2);
  uint64_t least = UINT64_MAX, most = 0;
  for (auto look = half; look != looks.end(); ++look) {
    least = std::min(least, *look.*what);
    most = std::max(most, *look.*what);
  }
  EXPECT_LE(most, least + least / 50 + slack) << name << " grows";
}

TEST(RetentionSoak, NothingGrowsHoweverManyRoundsThereAre) {
  const test::TemporaryDirectory directory{test::memory_disk()};
  RetentionWorld world(directory.path(), kSettings);
  ASSERT_OK(world.create_job());
  std::vector<WorldUse> looks;
  std::printf("round rows files disk_bytes resident_bytes descriptors\n");
  for (uint64_t round = 1; round <= kRounds; ++round) {
    ASSERT_OK(world.play_round(kDevices, kRound));
    ASSERT_OK(world.write_audit(2));
    if (round % kRoundsAPass == 0) ASSERT_OK(world.pass());
    if (round % (kRounds / kLooks) != 0) continue;
    ASSERT_OK(world.pass());
    ASSERT_OK(world.check());
    const auto use = world.use();
    ASSERT_OK(use);
    looks.push_back(*use);
    std::printf("%llu %llu %llu %llu %llu %llu\n", static_cast<unsigned long long>(round),
                static_cast<unsigned long long>(use->rows), static_cast<unsigned long long>(use->files),
                static_cast<unsigned long long>(use->disk_bytes), static_cast<unsigned long long>(use->resident_bytes),
                static_cast<unsigned long long>(use->descriptors));
    std::fflush(stdout);
  }
  ASSERT_EQ(looks.size(), kLooks);
  expect_flat(looks, &WorldUse::rows, 20, "the number of rows");
  expect_flat(looks, &WorldUse::files, 4, "the number of files");
  expect_flat(looks, &WorldUse::disk_bytes, kSlackBytes, "what lies on disk");
#ifndef COT_MEMORY_IS_THE_SANITIZERS
  expect_flat(looks, &WorldUse::resident_bytes, kSlackBytes, "memory");
#endif
  expect_flat(looks, &WorldUse::descriptors, 0, "the number of descriptors");
  EXPECT_GT(world.counts().models, kRounds / 2);
  EXPECT_GT(world.counts().rounds, kRounds / 2);
}

}  // namespace
}  // namespace coterie
