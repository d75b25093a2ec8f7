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
Status grow_rounds(RetentionWorld& world) {
  COT_TRY(world.create_job());
  for (int i = 0; i < 12; ++i) COT_TRY(world.play_round(5, Millis(10'000)));
  return {};
}

Status grow(const std::string& directory) {
  RetentionWorld world(directory, kSettings);
  COT_TRY(grow_rounds(world));
  COT_TRY(world.enroll(99));
  COT_TRY(world.write_audit(15));
  COT_TRY(world.pass());
  return {};
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

// With fewer rows in a step than the job has.
constexpr size_t kRowsAStep = 10;

Status delete_and_look_after(const std::string& directory) {
  RetentionWorld world(directory, kSettings, kRowsAStep);
  if (world.store().get_job(JobId("j"))) COT_TRY(world.delete_job());
  world.pass_time(kDay);
  COT_ASSIGN(const uint64_t steps, world.pass());
  if (steps < 8) return Error(ErrorCode::internal, "all went in " + std::to_string(steps) + " steps");
  COT_TRY(world.pass());
  return {};
}

// Runs it in a process of its own, which is killed there.
template <typename Act>
void expect_killed_at(const std::string& point, Act act) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(os::arm_crash_point(point) && act() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the point is not reached";
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
    ASSERT_NO_FATAL_FAILURE(expect_killed_at(point, [&] { return look_after(directory.path()).has_value(); }));
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

// A job with 60 rows of devices alone: whoever deleted it was answered before they went, and wherever the process dies
// the next one goes on.
TEST(RetentionCrash, ADeletedJobStaysGoneAndItsRowsGoAfterADeathAtEveryPoint) {
  for (const std::string point :
       {"delete_job.begun", "delete_job.before_commit", "delete_job.after_commit", "forget_job.begun",
        "forget_job.before_commit", "forget_job.after_commit", "forget_job.after_commit:4", "retention.before_blobs"}) {
    SCOPED_TRACE(point);
    const test::TemporaryDirectory directory{test::memory_disk()};
    {
      RetentionWorld world(directory.path(), kSettings);
      ASSERT_OK(grow_rounds(world));
    }
    ASSERT_NO_FATAL_FAILURE(
        expect_killed_at(point, [&] { return delete_and_look_after(directory.path()).has_value(); }));
    const bool was_deleted = point != "delete_job.begun" && point != "delete_job.before_commit";
    RetentionWorld world(directory.path(), kSettings, kRowsAStep);
    EXPECT_EQ(world.store().get_job(JobId("j")).has_value(), !was_deleted);
    EXPECT_EQ(world.store().list_rounds(JobId("j"), {})->empty(), was_deleted);
    EXPECT_EQ(world.use()->rows > 0, point != "retention.before_blobs");
    if (!was_deleted) ASSERT_OK(world.delete_job());
    world.pass_time(kDay);
    ASSERT_OK(world.pass());
    ASSERT_OK(world.pass());
    EXPECT_EQ(world.use()->rows, 0u);
    EXPECT_EQ(world.use()->files, 0u);
  }
}

}  // namespace
}  // namespace coterie
