// FedProx whose mu follows the loss, over rounds of a real model: a simulation that goes on where another was has the
// mu and the loss that it had.
#include <gtest/gtest.h>

#include "base/os/file.h"
#include "fl_server/evaluation/model_evaluator.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/digit_shards.h"
#include "tools/demo/demo_data.h"
#include "tools/simulate/cohort_trainer.h"
#include "tools/simulate/simulation.h"

namespace coterie::test {
namespace {

constexpr uint32_t kDevices = 3;

TEST(MuRounds, GoOnFromAnyPositionToTheSameBits) {
  TemporaryDirectory directory;
  DemoData data;
  std::vector<std::string> shards;
  make_digit_shards(kDevices, DemoOptions().split, directory, data, shards);
  ASSERT_EQ(shards.size(), kDevices);
  HorizontalSettings job;
  job.training.proximal_mu = 1;
  job.training.optimizer.learning_rate = 0.5f;
  job.adaptive_mu = AdaptiveMuSettings{.step = 0.5f, .falls = 2, .max = 2};
  job.evaluation = Digest();
  job.privacy.level = SecurityLevel::none;
  job.rounds.goal_count = 2;
  job.rounds.count = 6;
  ASSERT_TRUE(validate(job).empty());
  VirtualFleet fleet;
  fleet.devices = kDevices;
  fleet.examples_of = [](uint32_t) { return 100; };
  const auto begin = [&](const std::string& name, CohortTrainer& trainer) {
    EXPECT_OK(os::make_directories(directory / name));
    return *Simulation::begin(job, data.model, data.held_out, directory / name, fleet, trainer, false);
  };
  CohortTrainer first(shards, 1, 2, [](uint64_t) {}), second(shards, 1, 1, [](uint64_t) {});
  Simulation whole = begin("whole", first);
  std::vector<double> mus, losses;
  SimulationPosition position;
  std::vector<Bytes> files;
  while (whole.rounds_done() < job.rounds.count) {
    const Result<SimulatedRound> round = whole.attempt();
    ASSERT_OK(round);
    mus.push_back(round->report.proximal_mu.value_or(-1));
    losses.push_back(round->report.evaluation_loss.value_or(-1));
    if (whole.rounds_done() != 3) continue;
    position = whole.position();
    for (const Digest& file : files_of(position)) files.push_back(*whole.file(file));
  }
  // By the rule itself, of the losses that were told, and of the first version's.
  double mu = 1;
  uint64_t falls = 0;
  losses.insert(losses.begin(), evaluate_model(data.model, data.held_out, job.training)->loss);
  for (size_t i = 0; i < mus.size(); ++i) {
    EXPECT_EQ(mus[i], mu) << "round " << i + 1;
    if (losses[i + 1] > losses[i]) mu = std::min(2.0, mu + 0.5), falls = 0;
    else if (++falls == 2) mu = std::max(0.0, mu - 0.5), falls = 0;
  }
  EXPECT_NE(mus.front(), mus.back()) << "it has moved";
  Simulation rest = begin("rest", second);
  ASSERT_OK(rest.go_on(position, files));
  while (rest.rounds_done() < job.rounds.count) ASSERT_OK(rest.attempt());
  EXPECT_EQ(*rest.model(), *whole.model());
}

}  // namespace
}  // namespace coterie::test
