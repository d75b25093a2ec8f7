// An agent on a directory of its own, a scripted server, examples, and no waiting: every back-off is zero.
#pragma once

#include <gtest/gtest.h>

#include "base/os/file.h"
#include "device_sdk/agent/agent.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/agent/scripted_server.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {

using Activity = AgentProgress::Activity;

inline Bytes mlp(uint64_t seed) { return *make_model(ModelKind::mlp, {4, 4, 1}, 3, seed); }

class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    settings_.state_dir = directory_ / "state";
    settings_.enrollment_token = "token";
    settings_.sdk_version = "test";
    settings_.seed = 5;
    settings_.checkpoint_steps = 1;
    settings_.policy.backoff_first = settings_.policy.refusal_pause = Millis(0);
  }

  Status open() {
    agent_.reset();
    COT_ASSIGN(agent_, Agent::open(settings_, server_, examples_));
    return {};
  }
  AgentProgress step() {
    Result<AgentProgress> progress = agent_->step();
    EXPECT_OK(progress);
    return progress ? *progress : AgentProgress{};
  }
  // Steps until one of them has done this; what it said.
  AgentProgress step_until(Activity activity, int steps_max = 100) {
    for (int i = 0; i < steps_max; ++i) {
      const AgentProgress progress = step();
      if (progress.activity == activity) return progress;
      if (progress.activity == Activity::stopped) break;
    }
    ADD_FAILURE() << "never came to activity " << static_cast<int>(activity);
    return {};
  }
  // Steps until training has ended, well or not.
  AgentProgress train() {
    AgentProgress progress = step_until(Activity::trained);
    while (agent_->state().phase == ParticipantPhase::training) progress = step();
    return progress;
  }
  // But for round.state, which may or may not be there (session_files.h).
  std::vector<std::string> files() const {
    std::vector<std::string> names = *os::list_directory(settings_.state_dir);
    std::erase(names, "round.state");
    return names;
  }

  // What this device must send in the server's present round, computed without an agent.
  std::vector<float> expected_delta(const Bytes& model_file) {
    return expected_delta(model_file, Prng::derived(settings_.seed, server_.assignment().model_version.value()).next());
  }
  std::vector<float> expected_delta(const Bytes& model_file, uint64_t seed) {
    const Model model = load_or_die(model_file);
    Examples examples(20, 16, 3);
    Result<Trainer> trainer = Trainer::create(model, server_.plan.training, examples, seed);
    EXPECT_OK(trainer);
    while (!trainer->finished()) EXPECT_OK(trainer->step());
    std::vector<float> delta(model.value_count());
    for (size_t i = 0; i < delta.size(); ++i) delta[i] = trainer->parameters()[i] - model.parameters()[i];
    return delta;
  }

  TemporaryDirectory directory_{memory_disk()};
  Bytes model_ = mlp(1);
  ScriptedServer server_{model_};
  Examples examples_{20, 16, 3};
  AgentSettings settings_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace coterie::test
