// One device that says it has more examples than all others together, at a real server.
#include <gtest/gtest.h>

#include <thread>

#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

constexpr Millis kHold{20'000};
constexpr uint32_t kDevices = 20, kRounds = 2;
constexpr uint32_t kExamples = 10;  // of each device that is honest

class WeightShare : public ServerTest {
 protected:
  void SetUp() override { start(); }

  // Device 0 claims all it can, and more at first. Each moves a value of its own by 1.
  void take_part(RawDevice& device, uint32_t index, std::span<const uint32_t> weight_max) {
    for (uint32_t round = 1; round <= kRounds; ++round) {
      const auto assignment = device.wait_for_assignment(kHold);
      ASSERT_TRUE(test::is_ok(assignment));
      const uint32_t most = weight_max[round - 1];
      if (index == 0) {
        const Error refused = failure_of(device.upload(*assignment, one_hot(32, 0), 16'384, 4'000'000'000));
        EXPECT_EQ(refused.code(), ErrorCode::malformed) << refused.message();
        EXPECT_NE(refused.message().find("weight is over the plan's " + std::to_string(most)), std::string::npos)
            << refused.message();
      }
      const uint32_t weight = index == 0 ? most : std::min(most, kExamples);
      const auto outcome =
          device.upload(*assignment, one_hot(32, index), weight, index == 0 ? 4'000'000'000 : kExamples);
      ASSERT_TRUE(std::holds_alternative<Receipt>(outcome)) << std::get<Failure>(outcome).error.message();
    }
  }
  // What device 0 moved the model by, of what it sent, in this round.
  float moved_by_first(const std::string& job, uint64_t version) {
    const auto after = admin_->download_weights(job, version), before = admin_->download_weights(job, version - 1);
    EXPECT_TRUE(test::is_ok(after) && test::is_ok(before));
    return after && before ? (*after)[0] - (*before)[0] : 1;
  }
};

TEST_F(WeightShare, NoDeviceMovesTheModelByMoreThanTheJobsShareHoweverManyExamplesItClaims) {
  nlohmann::json spec = spec_for(kDevices, kRounds);
  spec["training"]["local_epochs"] = 1;
  const auto job = admin_->create_job(flat_model(32), spec);
  ASSERT_TRUE(test::is_ok(job));
  const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + *job);
  ASSERT_TRUE(test::is_ok(shown));
  EXPECT_EQ((*shown)["spec"]["update"]["weight_share_max"], 0.1) << "by default";
  // In the first round nothing is known, then that half of the devices have 10 examples: 21 of 21 + 19 * 10.
  constexpr uint32_t kWeightMax[] = {2, 21};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kDevices; ++i) {
    threads.emplace_back([&, i, device = enrolled_device()] { take_part(*device, i, kWeightMax); });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(wait_for_job(*job, "completed"));
  const auto rounds = admin_->rounds(*job);
  ASSERT_TRUE(test::is_ok(rounds));
  for (size_t i = 0; i < kRounds; ++i) {
    EXPECT_EQ((*rounds)["rounds"][i]["weight_max"], kWeightMax[kRounds - 1 - i]) << "newest first";
  }
  EXPECT_FLOAT_EQ(moved_by_first(*job, 1), 2.0f / 40) << "all weigh alike";
  EXPECT_FLOAT_EQ(moved_by_first(*job, 2), 21.0f / 211);
  EXPECT_LE(moved_by_first(*job, 2), 0.1f);
}

}  // namespace
}  // namespace coterie::integration
