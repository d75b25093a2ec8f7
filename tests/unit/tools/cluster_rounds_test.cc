// IFCA over rounds of a real model, as `coterie simulate` runs them: devices of two groups that call things otherwise
// find a cluster each, where one model for both has to fail.
#include <gtest/gtest.h>

#include "base/os/file.h"
#include "device_sdk/runtime/cluster_models.h"
#include "proto/messages/model_clusters.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/digit_shards.h"
#include "tools/demo/demo_data.h"
#include "tools/simulate/cohort_trainer.h"
#include "tools/simulate/own_scores.h"
#include "tools/simulate/simulation.h"

namespace coterie::test {
namespace {

constexpr uint32_t kDevices = 6;
constexpr float kHeldOut = 0.2f;

class ClusterRounds : public testing::Test {
 protected:
  void SetUp() override {
    make_digit_shards(kDevices, {SplitKind::turned, 2}, directory_, data_, shards_);
    ASSERT_EQ(shards_.size(), kDevices);
    job_.training = {.batch_size = 16, .local_epochs = 2};
    job_.privacy.level = SecurityLevel::none;
    job_.rounds.goal_count = kDevices;
    job_.rounds.count = 8;
    fleet_.devices = kDevices;
    fleet_.examples_of = [](uint32_t) { return 100; };
  }

  // What devices score on what they hold out after all rounds, each with its own cluster's model if there are some.
  OwnScores scores(const std::string& name, uint32_t clusters, uint64_t seed, uint32_t threads, Bytes& model) {
    DemoData data = data_;
    if (clusters > 1) {
      job_.training.personal = PersonalSettings{.kind = PersonalKind::clusters, .count = clusters};
      EXPECT_OK(add_clusters(job_.training, seed, data));
    }
    EXPECT_TRUE(validate(job_).empty());
    const std::string blobs = directory_ / name;
    EXPECT_OK(os::make_directories(blobs));
    trainer_.emplace(
        shards_, 1, threads, [](uint64_t) {}, Drill{}, kHeldOut);
    Result<Simulation> simulation = Simulation::begin(job_, data.model, data.held_out, blobs, fleet_, *trainer_);
    EXPECT_OK(simulation);
    if (!simulation) return {};
    while (simulation->rounds_done() < job_.rounds.count) EXPECT_OK(simulation->attempt());
    model = *simulation->model();
    const Result<OwnScores> own = own_scores(model, job_.training, trainer_->states(), shards_, kHeldOut);
    EXPECT_OK(own);
    return own ? *own : OwnScores{};
  }

  TemporaryDirectory directory_;
  DemoData data_;
  std::vector<std::string> shards_;
  HorizontalSettings job_;
  VirtualFleet fleet_;
  std::optional<CohortTrainer> trainer_;
};

// Where chance makes models of which one suits everybody better from the beginning, all choose that one, and the others
// are never trained: the paper's remedy is to begin anew, from another seed.
TEST_F(ClusterRounds, GiveEachGroupItsModelWhereOneForAllFails) {
  Bytes model;
  const OwnScores one = scores("one", 1, 0, 2, model);
  EXPECT_LT(one.published.accuracy, 0.6) << "half of the devices at most can be right";
  uint64_t seed = 1;
  OwnScores two;
  for (; seed <= 8; ++seed) {
    two = scores("two-" + std::to_string(seed), 2, seed, 2, model);
    ASSERT_TRUE(two.personal.has_value());
    if (trainer_->states().of(0) != trainer_->states().of(1)) break;
    EXPECT_LT(two.personal->accuracy, 0.6) << "as one model for all";
  }
  ASSERT_LE(seed, 8u) << "no seed finds both groups";
  EXPECT_GT(two.personal->accuracy, 0.8);
  EXPECT_GT(two.personal->worst_tenth, 0.7) << "nobody is left behind";
  for (uint32_t device = 0; device < kDevices; ++device) {
    const std::vector<float> own = trainer_->states().of(device);
    ASSERT_EQ(own.size(), 1u);
    EXPECT_EQ(own, trainer_->states().of(device % 2)) << "those that call things alike are in one cluster";
  }
  Bytes again;
  scores("again", 2, seed, 1, again);
  EXPECT_EQ(again, model) << "with any number of threads";
}

}  // namespace
}  // namespace coterie::test
