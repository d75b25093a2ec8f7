// Simulated buffered rounds: their models are what the agent's own frames add up to, with any ranks, in one go or not.
#include <gmock/gmock.h>

#include <algorithm>

#include "aggregation/accumulate/ring_sum.h"
#include "aggregation/strategy/registry.h"
#include "device_sdk/agent/encode_update.h"
#include "device_sdk/agent/late_update.h"
#include "device_sdk/agent/make_update.h"
#include "device_sdk/agent/training_seed.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/codec/codec.h"
#include "proto/codec/update/update_decoder.h"
#include "proto/ring/ring_vector.h"
#include "scheduler/job/buffered_rules.h"
#include "tests/unit/tools/simulated_ranks.h"

namespace coterie::test {
namespace {

class BufferedSimulation : public SimulatedRanks {
 protected:
  void SetUp() override {
    SimulatedRanks::SetUp();
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

  // What a device sends that was asked by the round of `version`, to the round that begins with version `joined`.
  Bytes frame_of(const Model& model, uint32_t device, uint64_t version, uint64_t joined, const Plan& plan) {
    const Result<UpdateLayout> layout = UpdateLayout::of(model, model.value_count(), plan);
    EXPECT_OK(layout);
    Result<DatasetSource> source = DatasetSource::open(shards_[device]);
    EXPECT_OK(source);
    const uint64_t seed = repeated_seed(device_seed(1, device + 1), ModelVersion(version));
    Result<Trainer> trainer = Trainer::create(model, layout->options(plan.training, seed, {}, {}), *source);
    EXPECT_OK(trainer);
    while (!trainer->finished()) EXPECT_OK(trainer->step());
    Result<TrainedUpdate> update =
        make_update(*layout, *trainer, source->size(), plan.training, plan.update, {model.digest(), seed, {}});
    EXPECT_OK(update);
    update->header.model = model.digest();
    update->header.round = {RoundId(version + 1), Attempt(1)};
    const Bytes own = encode_update(update->header, update->delta);
    if (joined == version) return own;
    const Result<Bytes> late =
        late_update(own, {RoundId(joined + 1), Attempt(1)}, staleness_weight(joined - version, plan.staleness));
    EXPECT_OK(late);
    return *late;
  }
};

TEST_F(BufferedSimulation, HasTheModelOfTheFramesThatDevicesSend) {
  VirtualBuffers buffers(fleet_, job_);
  const Model first = *Model::load(data_.model);
  const Plan plan = plan_of(job_, JobId("simulated"), ModelValues(first.value_count()));
  std::vector<Model> versions = {first};
  std::vector<float> weights(first.value_count());
  std::ranges::copy(payload_as<float>(decode_model(data_.model)->payload), weights.begin());
  for (uint64_t round = 0; round < kRoundsOfRanks; ++round) {
    const VirtualRound counted = buffers.next();
    RingSum sum(plan.update.value_count, plan.update.fixed_point);
    uint64_t weight = 0;
    for (size_t i = 0; i < counted.counted.size(); ++i) {
      const Bytes frame = frame_of(versions[counted.versions[i]], counted.counted[i], counted.versions[i], round, plan);
      const auto update = decode_update(frame);
      ASSERT_OK(update);
      ASSERT_OK(sum.add(payload_as<float>(update->payload), update->header.weight));
      weight += update->header.weight;
    }
    std::vector<float> mean(plan.update.value_count);
    decode_mean(sum.lanes(), weight, sum.spec(), mean);
    job_.strategy.rule->apply({.mean = mean,
                               .settings = job_.strategy.values,
                               .state = {},
                               .weights = weights,
                               .updates = counted.counted.size()});
    versions.push_back(*Model::load(versions.back().file_with(weights)));
    ASSERT_EQ(simulate(1, round + 1)[0].values, weights) << "round " << round + 1;
  }
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
