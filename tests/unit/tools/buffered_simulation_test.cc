// Simulated buffered rounds: their models are what the agent's own frames add up to, with any ranks, in one go or not.
#include <gmock/gmock.h>

#include "tests/unit/tools/framed_rounds.h"

namespace coterie::test {
namespace {

class BufferedSimulation : public FramedRounds {
 protected:
  void SetUp() override {
    FramedRounds::SetUp();
    job_.rounds.policy = RoundPolicyKind::buffered;
    job_.rounds.goal_count = 2;
    job_.rounds.goal_count_min = 1;
    job_.rounds.concurrency = kDevicesOfRanks;
    job_.rounds.over_selection = 1.5;
    job_.training.optimizer.learning_rate = 0.2f;
    ASSERT_TRUE(validate(job_).empty());
    fleet_.dropout = 0.1;
    fleet_.speed_spread = 1;
  }
};

TEST_F(BufferedSimulation, HasTheModelOfTheFramesThatDevicesSend) {
  VirtualBuffers buffers(fleet_, job_);
  expect_the_model_of_frames([&](uint64_t) { return buffers.next(); });
  EXPECT_GT(buffers.totals().joined, 0u) << "or nothing was late";
}

TEST_F(BufferedSimulation, HasTheModelOfOneProcessWithAnyRanks) {
  const RankEnd alone = simulate(1, 8)[0];
  ASSERT_OK(alone.status);
  for (const RankEnd& end : simulate(3, 8)) {
    ASSERT_OK(end.status);
    EXPECT_EQ(end.model, alone.model);
    EXPECT_EQ(end.losses, alone.losses);
  }
  job_.rounds.staleness_exponent = 0;
  EXPECT_NE(simulate(1, 8)[0].model, alone.model) << "what is late weighs less";
}

TEST_F(BufferedSimulation, HasTheModelOfASynchronousOneWhereAllAreInEachRound) {
  fleet_.dropout = 0;
  job_.rounds.goal_count = kDevicesOfRanks;
  job_.rounds.concurrency = 0;
  job_.rounds.over_selection = 1;
  const RankEnd buffered = simulate(1)[0];
  job_.rounds.policy = RoundPolicyKind::synchronous;
  EXPECT_EQ(simulate(1)[0].model, buffered.model);
}

TEST_F(BufferedSimulation, GoesOnFromACheckpointWithTheVersionsThatDevicesHave) {
  const RankEnd whole = simulate(1, 8)[0];
  ASSERT_OK(simulate(2, 3, true)[0].status);
  EXPECT_THAT(head()["older"], testing::Not(testing::IsEmpty()));
  ASSERT_OK(simulate(1, 5, true)[0].status);
  for (const RankEnd& end : simulate(3, 8, true)) {
    ASSERT_OK(end.status);
    EXPECT_EQ(end.model, whole.model);
    EXPECT_EQ(end.losses, whole.losses);
  }
}

TEST_F(BufferedSimulation, RefusesACheckpointWithoutThem) {
  ASSERT_OK(simulate(1, 3, true)[0].status);
  const nlohmann::json good = head();
  const auto refused = [&](const char* key, const nlohmann::json& value, const char* why) {
    nlohmann::json bad = good;
    bad[key] = value;
    EXPECT_ERROR(going_on_from(bad, 4), ErrorCode::malformed, why) << value;
  };
  nlohmann::json twice = good["older"];
  twice.push_back(twice[0]);
  nlohmann::json another = good["older"];
  another[0]["version"] = 99;
  refused("older", nlohmann::json::array(), "/older");
  refused("older", twice, "/older");
  refused("older", another, "/older");
  refused("older", 1, "/older");
  refused("version", 2, "/version");
  nlohmann::json bad = good;
  bad.erase("older");
  EXPECT_ERROR(going_on_from(bad, 4), ErrorCode::malformed, "/older");
  EXPECT_OK(going_on_from(good, 4));
}

}  // namespace
}  // namespace coterie::test
