// A device that keeps state from round to round: what it trains from, and what its disk has of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "device_sdk/agent/drift_state.h"
#include "device_sdk/agent/encode_update.h"
#include "tests/unit/device_sdk/agent/kept_state_fixture.h"

namespace coterie::test {
namespace {

class AgentState : public KeptStateTest {
 protected:
  void SetUp() override {
    server_.plan.training.correction = {.kind = CorrectionKind::feddyn, .alpha = 0.5f};
    server_.plan.training.local_epochs = 2;
    server_.begin_round(models_[0]);
    ASSERT_OK(open());
  }

  std::vector<float> expected(const Bytes& model_file, std::vector<float>& state) override {
    const Model model = load_or_die(model_file);
    Examples examples(20, 16, 3);
    const uint64_t seed = Prng::derived(settings_.seed, server_.assignment().model_version.value()).next();
    Result<Trainer> trainer = Trainer::create(model, options_with_state(server_.plan.training, seed, state), examples);
    EXPECT_OK(trainer);
    while (!trainer->finished()) EXPECT_OK(trainer->step());
    std::vector<float> delta(model.value_count());
    trainer->delta(delta);
    EXPECT_OK(limit_update(delta, server_.plan.update));
    state = next_state(server_.plan.training.correction, parameter_values(model.graph()), state, delta);
    return delta;
  }
  std::string in_state(const std::string& name) const { return settings_.state_dir + "/" + name; }
};

TEST_F(AgentState, TrainsEachRoundFromWhatTheLastOneLeft) {
  expect_to_go_on_from_round_to_round();
  EXPECT_EQ(state_files().size(), 4u) << "that of the last round, the one before it, and their keys";
}

TEST_F(AgentState, GoesOnFromTheOldOneWhenAnUpdateIsLost) { expect_nothing_of_a_lost_update(); }

TEST_F(AgentState, IsTheSameThroughADeathBeforeEveryStep) { expect_the_same_through_a_death_before_every_step(); }

// Each request of a round fails once; the device tries again, and its state is as if nothing had been.
TEST_F(AgentState, IsTheSameThroughAFailureOfEachRequest) {
  std::vector<float> state;
  for (size_t round = 0; round < models_.size(); ++round) {
    if (round > 0) server_.begin_round(models_[round]);
    for (const Call call : {Call::check_in, Call::model, Call::upload}) server_.fail_next(call, ScriptedServer::lost());
    for (int steps = 0; server_.uploads().size() <= round && steps < 200; ++steps) step();
    ASSERT_EQ(server_.uploads().size(), round + 1);
    EXPECT_EQ(sent(), expected(models_[round], state));
  }
}

TEST_F(AgentState, HasNothingOnItsDiskInTheClear) {
  std::vector<float> state;
  step_until(Activity::uploaded);
  expected(models_[0], state);
  ASSERT_EQ(state_files().size(), 2u);
  const ByteView last(reinterpret_cast<const uint8_t*>(state.data()), 32);
  for (const std::string& name : state_files()) {
    const Result<Bytes> bytes = os::read_file(in_state(name), 1 << 20);
    ASSERT_OK(bytes);
    EXPECT_TRUE(std::ranges::search(*bytes, last).empty()) << name;
  }
}

// A loss must not stop a device for ever: it is then as one that has not taken part yet.
TEST_F(AgentState, BeginsAnewWhereItsStateIsGoneOrDamaged) {
  for (const bool is_damaged : {false, true}) {
    std::vector<float> state;
    server_.begin_round(models_[0]);
    step_until(Activity::uploaded);
    for (const std::string& name : state_files()) {
      if (is_damaged && name.ends_with(".cotf")) ASSERT_OK(os::write_file_atomically(in_state(name), Bytes(100, 7)));
      if (!is_damaged) ASSERT_OK(os::remove_file(in_state(name)));
    }
    server_.begin_round(models_[1]);
    step_until(Activity::uploaded);
    EXPECT_EQ(sent(), expected(models_[1], state));
  }
}

TEST_F(AgentState, RemovesWhatADeadProcessLeftBehind) {
  step_until(Activity::uploaded);
  const std::vector<std::string> good = state_files();
  const std::string litter = "state-" + std::string(64, 'a');
  for (const char* suffix : {".cotf", ".key", ".cotf.tmp"}) {
    ASSERT_OK(os::write_file_atomically(in_state(litter + suffix), Bytes(32, 7)));
  }
  ASSERT_OK(open());
  EXPECT_EQ(state_files(), good);
}

TEST_F(AgentState, RefusesNothingOfAJobWithoutACorrection) {
  server_.plan.training.correction = {};
  server_.begin_round(models_[0]);
  step_until(Activity::uploaded);
  EXPECT_EQ(sent(), expected_delta(models_[0]));
  EXPECT_TRUE(state_files().empty());
}

}  // namespace
}  // namespace coterie::test
