// The state directory: an agent that is killed at any moment, whose disk fails, or that is not alone.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "proto/codec/codec.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

class AgentRestart : public AgentTest {
 protected:
  void SetUp() override {
    ASSERT_OK(open());
    server_.plan.training.local_epochs = 4;
    server_.begin_round(model_);
  }
  std::string in_state(const std::string& name) const { return settings_.state_dir + "/" + name; }
};

TEST_F(AgentRestart, BeforeEveryStepGivesTheSameUpdateOnce) {
  for (int lives = 0; agent_->state().rounds_done == 0 && lives < 100; ++lives) {
    ASSERT_OK(open());
    step();
  }
  ASSERT_EQ(server_.uploads().size(), 1u);
  EXPECT_EQ(server_.uploads()[0].values, expected_delta(model_)) << "to the bit, as without restarts";
  EXPECT_EQ(server_.calls(Call::enroll), 1);
  EXPECT_EQ(server_.calls(Call::model), 1) << "the model on the disk is good enough";
}

// A server that assigns a model again, under whatever name, does not get the same training again; a device that goes on
// with one does.
TEST_F(AgentRestart, ATrainingWithoutASeedIsItsOwnAndTheSameThroughRestarts) {
  settings_.seed = 0;
  settings_.train_slice = Millis(1);
  std::vector<uint64_t> seeds;
  for (int round = 0; round < 2; ++round) {
    if (round > 0) server_.begin_round(model_);
    const std::string name = "train-" + std::to_string(server_.assignment().round.round.value()) + "-1.seed";
    for (int lives = 0; lives < 200 && agent_->state().phase != ParticipantPhase::trained; ++lives) {
      ASSERT_OK(open());
      step();
    }
    ASSERT_EQ(agent_->state().phase, ParticipantPhase::trained);
    const Result<Bytes> seed = os::read_file(in_state(name), 8);
    ASSERT_OK(seed);
    ASSERT_EQ(seed->size(), 8u);
    std::memcpy(&seeds.emplace_back(), seed->data(), 8);
    step_until(Activity::uploaded);
    EXPECT_EQ(server_.uploads().back().values, expected_delta(model_, seeds.back())) << "to the bit";
    EXPECT_FALSE(os::exists(in_state(name))) << "the next training of this name is another one";
  }
  EXPECT_NE(seeds[0], seeds[1]);
  EXPECT_NE(server_.uploads()[0].values, server_.uploads()[1].values);
}

TEST_F(AgentRestart, InTheMiddleOfTrainingGoesOnFromTheCheckpoint) {
  constexpr uint64_t kEpochs = 1'000;  // 3000 steps, far more than fit into a slice of a millisecond
  server_.plan.training.local_epochs = kEpochs;
  server_.begin_round(model_);
  settings_.train_slice = Millis(1);
  ASSERT_OK(open());
  const auto read = [&] { return std::accumulate(examples_.reads().begin(), examples_.reads().end(), uint64_t{0}); };
  for (int restart = 0; restart < 3; ++restart) {
    const uint64_t before = read();
    while (read() == before) step_until(Activity::trained);
    ASSERT_EQ(agent_->state().phase, ParticipantPhase::training);
    ASSERT_OK(open());
  }
  const AgentProgress progress = train();
  EXPECT_EQ(progress.training.examples, 20 * kEpochs) << "what was trained before the restarts counts";
  EXPECT_EQ(read(), 20 * kEpochs) << "a checkpoint after every step: nothing is trained twice";
}

// Trained weights less the given ones are the update.
TEST_F(AgentRestart, ACheckpointOfARoundThatIsOverCannotBeReadAgain) {
  server_.plan.training.local_epochs = 1'000;
  server_.begin_round(model_);
  settings_.train_slice = Millis(1);
  ASSERT_OK(open());
  const std::string checkpoint =
      in_state("train-" + std::to_string(server_.assignment().round.round.value()) + "-1.ckpt");
  while (!os::exists(checkpoint)) step_until(Activity::trained);
  Result<Trainer> thief = Trainer::create(load_or_die(model_), server_.plan.training, examples_, settings_.seed);
  ASSERT_OK(thief);
  EXPECT_ERROR(thief->restore_checkpoint(checkpoint), ErrorCode::permission_denied, "key");
  train();
  step_until(Activity::uploaded);
  EXPECT_FALSE(os::exists(in_state("round.key")));
  EXPECT_FALSE(os::exists(checkpoint));
}

TEST_F(AgentRestart, WithADamagedCheckpointTrainsAnewToTheSameResult) {
  step_until(Activity::fetched_model);
  const RoundKey round = server_.assignment().round;
  const std::string name = "train-" + std::to_string(round.round.value()) + "-1.ckpt";
  ASSERT_OK(os::write_file_atomically(in_state(name), Bytes(1000, 0x5a)));
  step_until(Activity::uploaded);
  ASSERT_EQ(server_.uploads().size(), 1u);
  EXPECT_EQ(server_.uploads()[0].values, expected_delta(model_));
}

TEST_F(AgentRestart, AnUploadWhoseAnswerWasLostIsRepeatedWithTheSameBytes) {
  step_until(Activity::fetched_model);
  train();
  const Result<Bytes> stored = RoundVault(settings_.state_dir).read_file("update.cotf", 1 << 20);
  ASSERT_OK(stored);
  server_.fail_next(Call::upload, ScriptedServer::lost());
  ASSERT_TRUE(step().error);
  ASSERT_OK(open());
  EXPECT_FALSE(step_until(Activity::uploaded).error);
  EXPECT_TRUE(server_.uploads().at(0).bytes == *stored);
}

TEST_F(AgentRestart, AnUpdateOfARoundThatIsOverCannotBeReadAgain) {
  step_until(Activity::fetched_model);
  train();
  const Result<Bytes> on_disk = os::read_file(in_state("update.cotf"), 1 << 20);
  ASSERT_OK(on_disk);
  step_until(Activity::uploaded);
  EXPECT_FALSE(os::exists(in_state("round.key")));
  const Bytes& sent = server_.uploads().at(0).bytes;
  EXPECT_TRUE(std::ranges::search(*on_disk, ByteView(sent).last(32)).empty()) << "no value in the clear";
  ASSERT_OK(os::write_file_atomically(in_state("update.cotf"), *on_disk));  // as a thief finds it
  EXPECT_ERROR(RoundVault(settings_.state_dir).read_file("update.cotf", 1 << 20), ErrorCode::data_loss, "round");
}

TEST_F(AgentRestart, AnUpdateThatAnSdkOfBeforeLeftInTheClearIsSent) {
  step_until(Activity::fetched_model);
  train();
  const Result<Bytes> update = RoundVault(settings_.state_dir).read_file("update.cotf", 1 << 20);
  ASSERT_OK(update);
  ASSERT_OK(os::write_file_atomically(in_state("update.cotf"), *update));
  ASSERT_OK(RoundVault(settings_.state_dir).erase());
  ASSERT_OK(open());
  EXPECT_FALSE(step_until(Activity::uploaded).error);
  EXPECT_TRUE(server_.uploads().at(0).bytes == *update);
}

TEST_F(AgentRestart, WithoutTheStoredUpdateGoesBackToCheckingIn) {
  step_until(Activity::fetched_model);
  train();
  std::filesystem::remove(in_state("update.cotf"));
  const AgentProgress uploaded = step_until(Activity::uploaded);
  ASSERT_TRUE(uploaded.error);
  EXPECT_EQ(server_.calls(Call::upload), 0);
  EXPECT_FALSE(step_until(Activity::uploaded).error) << "the next assignment is trained again";
}

TEST_F(AgentRestart, WhatTheAppCancelledIsDueAgainAtOnce) {
  settings_.policy.refusal_pause = settings_.policy.backoff_first = Millis(1'000'000);  // would show
  ASSERT_OK(open());
  for (const Call call : {Call::enroll, Call::check_in, Call::plan, Call::model, Call::upload}) {
    server_.fail_next(call, ScriptedServer::cancelled());
  }
  for (int i = 0; i < 100 && server_.uploads().empty(); ++i) {
    const AgentProgress progress = step();
    EXPECT_NE(progress.activity, Activity::waiting);
    if (progress.error) {
      EXPECT_EQ(progress.error->code(), ErrorCode::cancelled);
      ASSERT_OK(open());
    }
  }
  EXPECT_EQ(server_.uploads().size(), 1u);
  EXPECT_EQ(server_.calls(Call::check_in), 2);
}

TEST_F(AgentRestart, AnAcceptedRoundThatCouldNotBeSavedDoesNotLeakIntoTheNext) {
  step_until(Activity::fetched_model);
  train();
  std::filesystem::create_directory(in_state("round.state"));  // nothing can be renamed onto it
  EXPECT_FALSE(agent_->step().has_value()) << "the device's own disk is an error of the step";
  EXPECT_FALSE(agent_->step().has_value()) << "and nothing else is done before the session is safe";
  EXPECT_EQ(server_.calls(Call::check_in), 1);
  std::filesystem::remove(in_state("round.state"));
  const Bytes next_model = mlp(2);
  server_.begin_round(next_model);
  step_until(Activity::uploaded);
  ASSERT_EQ(server_.uploads().size(), 2u);
  EXPECT_EQ(server_.uploads()[1].values, expected_delta(next_model));
  EXPECT_EQ(agent_->state().rounds_done, 2u);
}

TEST_F(AgentRestart, AFullDiskAtTheEndOfTrainingCostsNoTraining) {
  step_until(Activity::fetched_model);
  std::filesystem::create_directory(in_state("update.cotf"));
  Result<AgentProgress> progress = agent_->step();
  while (progress && agent_->state().phase == ParticipantPhase::training) progress = agent_->step();
  EXPECT_FALSE(progress.has_value());
  ASSERT_TRUE(agent_->state().assignment);
  std::filesystem::remove(in_state("update.cotf"));
  EXPECT_FALSE(step_until(Activity::uploaded).error);
  EXPECT_EQ(server_.uploads().at(0).values, expected_delta(model_));
}

TEST_F(AgentRestart, TheStateOnTheDiskIsWholeAfterEveryStep) {
  for (int i = 0; agent_->state().rounds_done == 0 && i < 100; ++i) {
    step();
    const Result<ParticipantState> state = SessionFiles(settings_.state_dir).load(1);
    ASSERT_OK(state);
    EXPECT_EQ(*state, agent_->state());
    for (const std::string& name : files()) EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
  }
}

TEST_F(AgentRestart, ADirectoryBelongsToOneAgentAtATime) {
  const auto second = Agent::open(settings_, server_, examples_);
  EXPECT_ERROR(second, ErrorCode::conflict, settings_.state_dir);
  agent_.reset();
  EXPECT_OK(Agent::open(settings_, server_, examples_));
}

TEST_F(AgentRestart, ADamagedStateIsSaidAndNotGuessedAround) {
  step();
  agent_.reset();
  Result<Bytes> state = os::read_file(in_state("session.state"), 1 << 20);
  ASSERT_OK(state);
  state->resize(state->size() / 2);
  ASSERT_OK(os::write_file_atomically(in_state("session.state"), *state));
  EXPECT_ERROR(Agent::open(settings_, server_, examples_), ErrorCode::data_loss, "session.state");
}

TEST_F(AgentRestart, TheKeyIsTheOwnersAlone) {
  struct stat info {};
  ASSERT_EQ(::stat(in_state("identity.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(settings_.state_dir.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

}  // namespace
}  // namespace coterie::test
