// `kill -9` at every crash point of retention, on a real database and real files: no row is without its blob, the next
// process goes on, and in the end as much is gone as without the death.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/os/crash_point.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/fl_server/retention/retention_world.h"

namespace coterie {
namespace {

using test::RetentionWorld;

constexpr Millis kDay{86'400'000};
constexpr RetentionSettings kSettings{.models_kept = 2,
                                      .superseded_min = Millis(60'000),
                                      .accepted_kept = Millis(60'000),
                                      .rounds_kept = 3,
                                      .rounds_kept_min = Millis(60'000),
                                      .uploads_kept = Millis(3'600'000),
                                      .devices_days = 1,
                                      .audit_kept = Millis(60'000),
                                      .audit_segment_records = 10,
                                      .audit_segments_kept = kDay};
Status grow(const std::string& directory) {
  RetentionWorld world(directory, kSettings);
  COT_TRY(world.create_job());
  for (int i = 0; i < 12; ++i) COT_TRY(world.play_round(5, Millis(10'000)));
  COT_TRY(world.enroll(99));
  COT_TRY(world.write_audit(15));
  return world.pass();
}

// Two days after the twelve rounds; blobs are as old as a process of its own takes them for: put before it began.
Status look_after(const std::string& directory) {
  RetentionWorld world(directory, kSettings);
  for (int day = 0; day < 3; ++day) {
    world.pass_time(kDay);
    COT_TRY(world.pass());
  }
  return {};
}

TEST(RetentionCrash, AtEveryPointNoRowIsWithoutItsBlob) {
  int deaths = 0;
  for (const std::string point : {"forget_models.begun",
                                  "forget_models.before_commit",
                                  "forget_models.after_commit",
                                  "retention.before_blobs",
                                  "forget_accepted.begun",
                                  "forget_accepted.before_commit",
                                  "forget_accepted.after_commit",
                                  "forget_rounds.begun",
                                  "forget_rounds.before_commit",
                                  "forget_rounds.after_commit",
                                  "forget_keys.before",
                                  "forget_keys.after",
                                  "forget_devices.begun",
                                  "forget_devices.before_commit",
                                  "forget_devices.after_commit",
                                  "seal_audit.begun",
                                  "seal_audit.before_commit",
                                  "seal_audit.after_commit",
                                  "forget_audit.begun",
                                  "forget_audit.before_commit",
                                  "forget_audit.after_commit",
                                  "drop_audit_segments.begun",
                                  "drop_audit_segments.before_commit",
                                  "drop_audit_segments.after_commit"}) {
    SCOPED_TRACE(point);
    const test::TemporaryDirectory directory{test::memory_disk()};
    ASSERT_OK(grow(directory.path()));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool is_done = os::arm_crash_point(point) && look_after(directory.path());
      ::_exit(is_done ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the point is not reached";
    ++deaths;
    {
      RetentionWorld world(directory.path(), kSettings);
      ASSERT_OK(world.check());
    }
    ASSERT_OK(look_after(directory.path()));
    RetentionWorld world(directory.path(), kSettings);
    ASSERT_OK(world.check());
    const auto use = world.use();
    ASSERT_OK(use);
    EXPECT_EQ(world.store().list_models(JobId("j"))->size(), 3u);
    EXPECT_EQ(world.store().list_rounds(JobId("j"), {})->size(), 3u);
    EXPECT_EQ(use->files, 6u) << "a plan, three models, two states of optimizers";
    ASSERT_OK(world.play_round(5, Millis(10'000))) << "the job goes on";
  }
  EXPECT_EQ(deaths, 24);
}

}  // namespace
}  // namespace coterie
