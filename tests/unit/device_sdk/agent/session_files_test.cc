// What of a device's session is there again after its process died, and what after a loss of power.
#include "device_sdk/agent/session_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/os/file.h"
#include "proto/codec/codec.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {
namespace {

class SessionFilesTest : public testing::Test {
 protected:
  SessionFilesTest() {
    state_.phase = ParticipantPhase::idle;
    state_.device.bytes.fill(7);
    state_.keys = {Bytes(32, 9)};
    state_.random = {1, 2, 3, 4};
  }
  ParticipantState loaded() const {
    Result<ParticipantState> state = SessionFiles(directory_.path()).load(1);
    EXPECT_OK(state);
    return state ? *state : ParticipantState{};
  }
  bool is_there(const std::string& name) const { return os::exists(directory_ / name); }
  void lose_power() { std::filesystem::remove(directory_ / "round.state"); }

  TemporaryDirectory directory_;
  SessionFiles files_{directory_.path()};
  ParticipantState state_;
};

TEST_F(SessionFilesTest, ANewDeviceBeginsWithJitterOfItsSeed) {
  const auto first = files_.load(5);
  ASSERT_OK(first);
  EXPECT_EQ(first->phase, ParticipantPhase::unenrolled);
  EXPECT_EQ(SessionFiles(directory_.path()).load(5)->random, first->random);
  EXPECT_NE(SessionFiles(directory_.path()).load(6)->random, first->random);
}

TEST_F(SessionFilesTest, WhoTheDeviceIsOutlivesALossOfPower) {
  ASSERT_OK(files_.save(state_));
  EXPECT_FALSE(is_there("round.state"));
  EXPECT_EQ(loaded(), state_);
}

TEST_F(SessionFilesTest, HowFarARoundHasComeOutlivesTheProcessAndIsForgottenWithThePower) {
  ASSERT_OK(files_.save(state_));
  const ParticipantState before = state_;
  state_.failures = 3;
  state_.rounds_done = 8;
  ASSERT_OK(files_.save(state_));
  EXPECT_EQ(loaded(), state_);
  lose_power();
  EXPECT_EQ(loaded(), before);
}

TEST_F(SessionFilesTest, WhatAnUpdateCostsIsNeverForgotten) {
  ASSERT_OK(files_.save(state_));
  using Change = void (*)(ParticipantState&);
  const std::vector<Change> changes = {
      [](ParticipantState& s) { s.spent.epsilon += 0.5; },
      [](ParticipantState& s) { s.newest_models[JobId("j")] = s.took_part[JobId("j")] = ModelVersion(4); },
      [](ParticipantState& s) { s.ledgers[JobId("j")] = LedgerHead{.records = 2, .head = Digest{{1}}}; },
      [](ParticipantState& s) {
        s.openings.push_back({Digest{{1}}, 1, false});
      },
      [](ParticipantState& s) { ++s.openings[0].sums; },
      [](ParticipantState& s) { s.keys = {Bytes(32, 1)}; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    state_.failures = static_cast<uint32_t>(i + 1);
    ASSERT_OK(files_.save(state_));
    EXPECT_TRUE(is_there("round.state"));
    changes[i](state_);
    ASSERT_OK(files_.save(state_));
    lose_power();
    EXPECT_EQ(loaded(), state_) << "change " << i;
  }
}

TEST_F(SessionFilesTest, ARoundThatContinuesAnotherSessionIsLitter) {
  ASSERT_OK(files_.save(state_));
  state_.failures = 1;
  ASSERT_OK(files_.save(state_));
  const Result<Bytes> round = os::read_file(directory_ / "round.state", 1 << 20);
  ASSERT_OK(round);
  state_.spent.epsilon = 2;
  ASSERT_OK(files_.save(state_));
  EXPECT_FALSE(is_there("round.state"));
  // Power was lost between the new session.state and the removal of what continued the old one.
  ASSERT_OK(os::write_file_atomically(directory_ / "round.state", *round));
  EXPECT_EQ(loaded(), state_);
}

TEST_F(SessionFilesTest, ATornRoundIsAsIfPowerHadBeenLost) {
  ASSERT_OK(files_.save(state_));
  const ParticipantState before = state_;
  state_.failures = 1;
  ASSERT_OK(files_.save(state_));
  const Result<Bytes> whole = os::read_file(directory_ / "round.state", 1 << 20);
  ASSERT_OK(whole);
  for (size_t size = 0; size < whole->size(); ++size) {
    Bytes torn(whole->begin(), whole->begin() + static_cast<ptrdiff_t>(size));
    ASSERT_OK(os::write_file_atomically(directory_ / "round.state", torn));
    EXPECT_EQ(loaded(), before) << size;
    torn.resize(whole->size());  // the file system had the length, but not the bytes
    ASSERT_OK(os::write_file_atomically(directory_ / "round.state", torn));
    EXPECT_EQ(loaded(), torn == *whole ? state_ : before) << size;
  }
}

TEST_F(SessionFilesTest, ASaveThatFailedIsTriedAgain) {
  ASSERT_OK(files_.save(state_));
  state_.spent.epsilon = 1;
  std::filesystem::remove(directory_ / "session.state");
  std::filesystem::create_directory(directory_ / "session.state");  // nothing can be renamed onto it
  EXPECT_FALSE(files_.save(state_).has_value());
  EXPECT_FALSE(files_.saved());
  std::filesystem::remove(directory_ / "session.state");
  EXPECT_OK(files_.save(state_));
  EXPECT_TRUE(files_.saved());
  EXPECT_EQ(loaded(), state_);
}

TEST_F(SessionFilesTest, ADamagedSessionIsSaidAndNotGuessedAround) {
  ASSERT_OK(files_.save(state_));
  ASSERT_OK(os::write_file_atomically(directory_ / "session.state", Bytes(40, 1)));
  EXPECT_ERROR(SessionFiles(directory_.path()).load(1), ErrorCode::data_loss, "session.state");
}

}  // namespace
}  // namespace coterie::test
