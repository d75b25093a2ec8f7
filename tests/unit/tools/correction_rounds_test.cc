// Strategies whose devices keep state, over rounds of a real model, as `coterie simulate` runs them: devices that
// train, integer sums, the finalizer.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "base/os/file.h"
#include "proto/codec/codec.h"
#include "proto/messages/running_statistics.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/digit_shards.h"
#include "tools/demo/demo_data.h"
#include "tools/simulate/cohort_trainer.h"
#include "tools/simulate/simulation.h"

namespace coterie::test {
namespace {

constexpr uint32_t kDevices = 6;
constexpr float kAlpha = 0.1f;

struct Kept {
  const char* strategy;
  double factor;  // of the server's vector: the mean of all devices' own
};

class CorrectionRounds : public testing::TestWithParam<Kept> {
 protected:
  void SetUp() override {
    make_digit_shards(kDevices, {SplitKind::dirichlet, 0.1}, directory_, data_, shards_);
    ASSERT_EQ(shards_.size(), kDevices);
    job_.training = {.batch_size = 16, .local_epochs = 2};
    job_.strategy = StrategySettings::of(GetParam().strategy).with("population_size", kDevices);
    job_.update.weight_max = 1;
    job_.privacy.level = SecurityLevel::none;
    job_.rounds.goal_count = 3;
    ASSERT_TRUE(validate(job_).empty());
    fleet_.devices = kDevices;
    fleet_.dropout = 0.2;
    fleet_.examples_of = [](uint32_t) { return 100; };
  }

  std::string blobs() const { return directory_ / "blobs"; }
  // The vector that the strategy carries, as the last round left it.
  std::vector<float> server_state() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(blobs())) {
      if (!entry.is_regular_file()) continue;
      const Result<Bytes> bytes = os::read_file(entry.path().string(), 1 << 26);
      EXPECT_OK(bytes);
      const auto state = decode_optimizer_state(*bytes);
      if (!state) continue;
      const auto values = payload_as<float>(state->payload);
      return {values.begin(), values.end()};
    }
    ADD_FAILURE() << "there is no state of a strategy";
    return {};
  }
  // The largest difference of the server's state and the mean of the devices' own.
  double mismatch(const DeviceStates& states) const {
    const std::vector<float> server = server_state();
    double worst = 0;
    for (size_t i = 0; i < server.size(); ++i) {
      double sum = 0;
      for (uint32_t device = 0; device < kDevices; ++device) {
        const std::vector<float> own = states.of(device);
        sum += own.empty() ? 0 : static_cast<double>(own[i]);
      }
      worst = std::max(worst, std::abs(sum / kDevices - GetParam().factor * static_cast<double>(server[i])));
    }
    return worst;
  }

  TemporaryDirectory directory_;
  DemoData data_;
  std::vector<std::string> shards_;
  HorizontalSettings job_;
  VirtualFleet fleet_;
};

TEST_P(CorrectionRounds, KeepWhatTheServerHoldsOfTheDevicesTheMeanOfWhatTheyHold) {
  ASSERT_OK(os::make_directories(blobs()));
  CohortTrainer trainer(shards_, 1, 2, [](uint64_t) {});
  Result<Simulation> simulation = Simulation::begin(job_, data_.model, data_.held_out, blobs(), fleet_, trainer);
  ASSERT_OK(simulation);
  uint64_t counted = 0;
  while (simulation->rounds_done() < 6) {
    const Result<SimulatedRound> round = simulation->attempt();
    ASSERT_OK(round);
    counted += round->plan.counted.size();
    EXPECT_LT(mismatch(trainer.states()), 1e-6);
  }
  EXPECT_GT(counted, 10u);
  double size = 0;
  for (const float value : server_state()) size = std::max(size, std::abs(static_cast<double>(value)));
  EXPECT_GT(size, 1e-3) << "there is something to compare";
}

// What a device keeps depends on its own rounds alone, so that threads change no bit of it.
TEST_P(CorrectionRounds, GiveTheSameModelWithAnyNumberOfThreads) {
  std::set<std::string> models;
  for (const uint32_t threads : {1u, 2u}) {
    const std::string directory = directory_ / ("blobs" + std::to_string(threads));
    ASSERT_OK(os::make_directories(directory));
    CohortTrainer trainer(shards_, 1, threads, [](uint64_t) {});
    Result<Simulation> simulation = Simulation::begin(job_, data_.model, data_.held_out, directory, fleet_, trainer);
    ASSERT_OK(simulation);
    while (simulation->rounds_done() < 3) ASSERT_OK(simulation->attempt());
    const Result<Bytes> model = simulation->model();
    ASSERT_OK(model);
    models.insert(std::string(as_text(*model)));
  }
  EXPECT_EQ(models.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Strategies, CorrectionRounds,
                         testing::Values(Kept{"feddyn", -static_cast<double>(kAlpha)}, Kept{"scaffold", 1}),
                         [](const auto& info) { return std::string(info.param.strategy); });

}  // namespace
}  // namespace coterie::test
