// A device in rounds of a job with clusters: which it trains, what it sends of that, and which model the app is given.
#include <gtest/gtest.h>

#include <algorithm>

#include "device_sdk/agent/personal_model.h"
#include "device_sdk/runtime/cluster_models.h"
#include "device_sdk/runtime/evaluator.h"
#include "proto/messages/model_clusters.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

constexpr uint32_t kClusters = 3;
constexpr float kWhole = 8;  // value_abs_max of the scripted plan

class AgentClusters : public AgentTest {
 protected:
  void begin() {
    TrainingSettings& training = server_.plan.training;
    training.local_epochs = 2;
    training.personal = PersonalSettings{.kind = PersonalKind::clusters, .count = kClusters};
    UpdateRules& rules = server_.plan.update;
    rules.scalars.assign(kClusters, {ScalarKind::cluster_member, 1});
    rules.value_count = kClusters * slot() + kClusters;
    server_.begin_round(stacks_[0]);
    ASSERT_OK(open());
  }
  static Bytes stack(uint64_t seed) {
    std::vector<Model> models;
    for (uint64_t cluster = 0; cluster < kClusters; ++cluster) models.push_back(load_or_die(mlp(seed + cluster)));
    return *stack_models(models);
  }
  uint64_t slot() const { return load_or_die(stacks_[0]).value_count() / kClusters; }
  // The cluster whose model loses least on the device's examples, found without an agent.
  uint32_t best(const Bytes& file) {
    const std::vector<Model> models = *cluster_models(load_or_die(file), server_.plan.training);
    std::vector<double> losses;
    for (const Model& model : models) {
      Examples examples(20, 16, 3);
      Result<Evaluator> evaluator = Evaluator::create(model, loss_of(server_.plan.training), 20);
      EXPECT_OK(evaluator);
      losses.push_back(evaluator->run(model.parameters(), examples)->loss_mean);
    }
    return static_cast<uint32_t>(std::ranges::min_element(losses) - losses.begin());
  }
  // Slots of zeros but one, and which one that is.
  void expect_sent(const Bytes& file) {
    const std::vector<float>& sent = server_.uploads().back().values;
    const uint32_t chosen = best(file);
    ASSERT_EQ(sent.size(), kClusters * slot() + kClusters);
    const Model own = *cluster_model(load_or_die(file), chosen);
    const Bytes own_file(own.file().begin(), own.file().end());
    const std::vector<float> wanted = expected_delta(own_file);
    for (uint32_t cluster = 0; cluster < kClusters; ++cluster) {
      const auto first = sent.begin() + static_cast<std::ptrdiff_t>(cluster * slot());
      const std::vector<float> values(first, first + static_cast<std::ptrdiff_t>(slot()));
      EXPECT_EQ(values, cluster == chosen ? wanted : std::vector<float>(slot())) << cluster;
      EXPECT_EQ(sent[kClusters * slot() + cluster], cluster == chosen ? kWhole : 0) << cluster;
    }
  }

  const std::vector<Bytes> stacks_ = {stack(1), stack(7), stack(4)};
};

TEST_F(AgentClusters, TrainsWhatFitsBestAndSaysSoInItsSlotAlone) {
  begin();
  EXPECT_ERROR(agent_->personal_model(server_.plan.job, load_or_die(stacks_[0])), ErrorCode::not_found,
               "keeps nothing to itself");
  std::vector<uint32_t> chosen;
  for (size_t round = 0; round < stacks_.size(); ++round) {
    if (round > 0) server_.begin_round(stacks_[round]);
    step_until(Activity::uploaded);
    expect_sent(stacks_[round]);
    chosen.push_back(best(stacks_[round]));
    // Any version, as the cluster of the last round that counted has it.
    const Result<Model> own = agent_->personal_model(server_.plan.job, load_or_die(stacks_[0]));
    ASSERT_OK(own);
    const Model wanted = *cluster_model(load_or_die(stacks_[0]), chosen.back());
    EXPECT_TRUE(std::ranges::equal(own->parameters(), wanted.parameters()));
    EXPECT_EQ(own->graph(), load_or_die(mlp(1)).graph()) << "a model as any other";
  }
  EXPECT_NE(std::ranges::min(chosen), std::ranges::max(chosen)) << "seeds that choose one cluster show nothing";
}

// The choice is part of no update that is lost.
TEST_F(AgentClusters, KeepsTheClusterOfTheUpdateThatCountedLast) {
  begin();
  step_until(Activity::uploaded);
  const uint32_t first = best(stacks_[0]);
  for (size_t round = 1; round < stacks_.size(); ++round) {
    server_.begin_round(stacks_[round]);
    server_.fail_next(Call::upload, ScriptedServer::typed(ErrorCode::round_closed));
    ASSERT_TRUE(step_until(Activity::uploaded).error);
    const Model wanted = *cluster_model(load_or_die(stacks_[2]), first);
    EXPECT_TRUE(std::ranges::equal(agent_->personal_model(server_.plan.job, load_or_die(stacks_[2]))->parameters(),
                                   wanted.parameters()));
  }
}

TEST_F(AgentClusters, ChoosesTheSameThroughADeathBeforeEveryStep) {
  begin();
  for (int steps = 0; server_.uploads().empty() && steps < 400; ++steps) {
    ASSERT_OK(open());
    ASSERT_OK(agent_->step());
  }
  ASSERT_EQ(server_.uploads().size(), 1u);
  expect_sent(stacks_[0]);
}

TEST_F(AgentClusters, RefusesAPlanOfAnotherNumberThanTheFileHolds) {
  begin();
  server_.plan.training.personal->count = 2;
  server_.plan.update.scalars.resize(2);
  server_.plan.update.value_count = kClusters * slot() + 2;
  // So that the plan is good by itself.
  if ((kClusters * slot()) % 2 != 0) GTEST_SKIP() << "the slots have an odd number of values";
  server_.begin_round(stacks_[1]);
  ASSERT_OK(open());
  EXPECT_TRUE(train().error);
  EXPECT_TRUE(server_.uploads().empty());
}

}  // namespace
}  // namespace coterie::test
