// Rounds of a watched job of a real model, as `coterie simulate` runs them: the model is that of the job without, and
// what its devices found is the same at every level and with any number of threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/digit_shards.h"
#include "tools/simulate/cohort_trainer.h"
#include "tools/simulate/simulation.h"

namespace coterie::test {
namespace {

constexpr uint32_t kDevices = 6;

class WatchRounds : public testing::Test {
 protected:
  void SetUp() override {
    make_digit_shards(kDevices, {}, directory_, data_, shards_);
    ASSERT_EQ(shards_.size(), kDevices);
    job_.training = {.batch_size = 16, .local_epochs = 1};
    job_.training.optimizer.learning_rate = 0.5f;
    job_.privacy.level = SecurityLevel::none;
    job_.rounds.goal_count = kDevices;
    job_.rounds.count = 2;
    fleet_.devices = kDevices;
    fleet_.examples_of = [](uint32_t) { return 100; };
  }

  struct Outcome {
    Bytes model;
    std::vector<WatchOutcome> found;  // by round
  };
  Outcome run(const std::string& name, uint32_t threads = 2) {
    EXPECT_TRUE(validate(job_).empty());
    const std::string blobs = directory_ / name;
    EXPECT_OK(os::make_directories(blobs));
    trainer_.emplace(
        shards_, 1, threads, [](uint64_t) {}, Drill{}, 0.0f);
    Result<Simulation> simulation = Simulation::begin(job_, data_.model, data_.held_out, blobs, fleet_, *trainer_);
    EXPECT_OK(simulation);
    Outcome outcome;
    while (simulation && simulation->rounds_done() < job_.rounds.count) {
      const Result<SimulatedRound> round = simulation->attempt();
      EXPECT_OK(round);
      if (!round) return outcome;
      if (round->report.watch) outcome.found.push_back(*round->report.watch);
    }
    if (simulation) outcome.model = *simulation->model();
    return outcome;
  }

  TemporaryDirectory directory_;
  DemoData data_;
  std::vector<std::string> shards_;
  HorizontalSettings job_;
  VirtualFleet fleet_;
  std::optional<CohortTrainer> trainer_;
};

TEST_F(WatchRounds, SayTheSameAtEveryLevelAndMoveNothing) {
  const Outcome plain = run("plain");
  EXPECT_TRUE(plain.found.empty());
  job_.training.watch = WatchSettings{.checks = {"weight_change_too_large", "loss_not_decreasing"}, .every = 1};
  const Outcome first = run("none");
  EXPECT_EQ(first.model, plain.model);
  ASSERT_EQ(first.found.size(), 2u);
  for (const WatchOutcome& found : first.found) {
    EXPECT_EQ(found.looked, 1);
    for (const WatchShare& hit : found.hits) EXPECT_GT(hit.share, 0);
  }
  EXPECT_FALSE(first.found[0].hits.empty()) << "such a rate moves weights by more than themselves";
  for (const auto& [name, level, threads] : {std::tuple("alone", SecurityLevel::none, 1u),
                                             {"masked", SecurityLevel::masked, 2u},
                                             {"active", SecurityLevel::active, 2u}}) {
    job_.privacy.level = level;
    const Outcome other = run(name, threads);
    EXPECT_EQ(other.model, plain.model) << name;
    EXPECT_EQ(other.found, first.found) << name;
  }
}

TEST_F(WatchRounds, LookAtSomeDevicesWhereTheScheduleIsLongerThanTheirTrainings) {
  job_.training.watch = WatchSettings{.checks = {"recommended"}, .every = 20};
  job_.rounds.count = 4;
  double looked = 0;
  for (const WatchOutcome& found : run("few").found) looked += found.looked / 4;
  EXPECT_GT(looked, 0);
  EXPECT_LT(looked, 0.9) << "a training has far fewer steps than the schedule's twenty";
}

}  // namespace
}  // namespace coterie::test
