// The files of kept states: what was written for a job and a slot is read for these, and for nothing else.
#include "device_sdk/agent/state_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {
namespace {

class StateFilesTest : public testing::Test {
 protected:
  StateSlot written(const JobId& job, StateSlot slot, const std::vector<float>& values) {
    const Result<Digest> content = files_.write(job, slot, values);
    EXPECT_OK(content);
    if (content) slot.content = *content;
    return slot;
  }
  std::string in(const std::string& name) const { return directory_ / name; }

  TemporaryDirectory directory_{memory_disk()};
  StateFiles files_{directory_.path()};
  const JobId job_{"job"};
  const StateSlot slot_{StateKind::feddyn, ModelVersion(3), Digest{{1}}, Digest{{2}}, {}};
  const std::vector<float> values_ = {1, -2, 0.5f};
};

TEST_F(StateFilesTest, AreReadInAnotherLife) {
  const StateSlot slot = written(job_, slot_, values_);
  const Result<std::vector<float>> again = StateFiles(directory_.path()).read(job_, slot, 3);
  ASSERT_OK(again);
  EXPECT_EQ(*again, values_);
  struct stat info {};
  ASSERT_EQ(::stat(in("state-" + slot.content.hex() + ".key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(StateFilesTest, BelongToOneJobModelAndPast) {
  const StateSlot slot = written(job_, slot_, values_);
  const auto expect_lost = [&](const JobId& job, const StateSlot& other) {
    EXPECT_ERROR(files_.read(job, other, 3), ErrorCode::data_loss, "is another one's");
  };
  expect_lost(JobId("other"), slot);
  StateSlot other = slot;
  other.version = ModelVersion(4);
  expect_lost(job_, other);
  other = slot;
  other.model = Digest{{9}};
  expect_lost(job_, other);
  other = slot;
  other.before = {};
  expect_lost(job_, other);
  EXPECT_ERROR(files_.read(job_, slot, 4), ErrorCode::data_loss, "the model 4 values");
  EXPECT_ERROR(files_.read(job_, slot, 2), ErrorCode::data_loss, "");
}

TEST_F(StateFilesTest, OfAnothersNameDoNotOpen) {
  const StateSlot slot = written(job_, slot_, values_);
  const StateSlot second = written(job_, slot_, {4, 5, 6});
  for (const char* suffix : {".cotf", ".key"}) {
    ASSERT_OK(
        os::rename_file(in("state-" + second.content.hex() + suffix), in("state-" + slot.content.hex() + suffix)));
  }
  EXPECT_ERROR(files_.read(job_, slot, 3), ErrorCode::data_loss, "job job");
}

TEST_F(StateFilesTest, WithWhatNoTrainingGivesAreRefused) {
  for (const float value : {std::nanf(""), INFINITY}) {
    const StateSlot slot = written(job_, slot_, {1, value});
    EXPECT_ERROR(files_.read(job_, slot, 2), ErrorCode::data_loss, "");
  }
}

TEST_F(StateFilesTest, StayWhileTheyAreNamed) {
  ParticipantState state;
  const StateSlot kept = written(job_, slot_, {1}), previous = written(job_, slot_, {2});
  const StateSlot staged = written(job_, slot_, {3}), gone = written(job_, slot_, {4});
  state.states[job_] = {kept, previous, {}};
  state.staged = staged;
  ASSERT_OK(os::write_file_atomically(in("session.state"), Bytes(3, 1)));
  files_.keep_only(state);
  for (const StateSlot& slot : {kept, previous, staged}) EXPECT_OK(files_.read(job_, slot, 1));
  EXPECT_ERROR(files_.read(job_, gone, 1), ErrorCode::data_loss, "is gone");
  EXPECT_FALSE(os::exists(in("state-" + gone.content.hex() + ".key")));
  EXPECT_TRUE(os::exists(in("session.state")));
}

}  // namespace
}  // namespace coterie::test
