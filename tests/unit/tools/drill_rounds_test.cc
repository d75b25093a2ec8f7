// Drills as `coterie simulate --attack` runs them: rounds of a real model, in which some devices lie.
#include <gtest/gtest.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/digit_shards.h"
#include "tools/demo/demo_data.h"
#include "tools/simulate/cohort_trainer.h"
#include "tools/simulate/simulation.h"

namespace coterie::test {
namespace {

constexpr uint32_t kDevices = 4;

class DrillRounds : public testing::Test {
 protected:
  void SetUp() override {
    make_digit_shards(kDevices, {SplitKind::iid}, directory_, data_, shards_);
    ASSERT_EQ(shards_.size(), kDevices);
    job_.training = {.batch_size = 16, .local_epochs = 1};
    job_.update.weight_max = 1;
    job_.privacy.level = SecurityLevel::none;
    job_.rounds.goal_count = kDevices;
    job_.rounds.count = 3;
    ASSERT_TRUE(validate(job_).empty());
    fleet_.devices = kDevices;
    fleet_.examples_of = [](uint32_t) { return 100; };
  }

  // The model behind all rounds.
  Bytes model(const std::string& name, const std::string& attack, uint32_t threads = 1) {
    const std::string blobs = directory_ / name;
    EXPECT_OK(os::make_directories(blobs));
    const Drill drill = {attack.empty() ? Attack() : parse_attack(attack).value(), kDevices};
    CohortTrainer trainer(
        shards_, 1, threads, [](uint64_t) {}, drill);
    Result<Simulation> simulation = Simulation::begin(job_, data_.model, data_.held_out, blobs, fleet_, trainer, false);
    EXPECT_OK(simulation);
    while (simulation->rounds_done() < job_.rounds.count) EXPECT_OK(simulation->attempt());
    return simulation->model().value();
  }

  TemporaryDirectory directory_;
  DemoData data_;
  std::vector<std::string> shards_;
  HorizontalSettings job_;
  VirtualFleet fleet_;
};

TEST_F(DrillRounds, WithDrawnLiarsHaveAModelOfTheirOwn) {
  const Bytes drawn = model("drawn", "free_rider:0.5,drawn");
  EXPECT_EQ(model("threads", "free_rider:0.5,drawn", 2), drawn) << "threads change no bit";
  EXPECT_NE(model("first", "free_rider:0.5"), drawn) << "the first two devices lie in all rounds";
  EXPECT_NE(model("honest", ""), drawn);
}

// The share is of the round: of four devices 0.2 is none.
TEST_F(DrillRounds, WithoutALiarHaveTheModelOfNoDrill) {
  const Bytes honest = model("honest", "");
  EXPECT_EQ(model("first", "label_flip:0.2"), honest);
  EXPECT_EQ(model("drawn", "label_flip:0.2,drawn"), honest);
}

}  // namespace
}  // namespace coterie::test
