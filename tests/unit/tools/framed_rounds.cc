#include "tests/unit/tools/framed_rounds.h"

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

namespace coterie::test {

Bytes FramedRounds::frame_of(const Model& model, uint32_t device, uint64_t version, uint64_t joined,
                             const Plan& plan) const {
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

void FramedRounds::expect_the_model_of_frames(const std::function<VirtualRound(uint64_t round)>& next) {
  const Model first = *Model::load(data_.model);
  const Plan plan = plan_of(job_, JobId("simulated"), ModelValues(first.value_count()));
  std::vector<Model> versions = {first};
  std::vector<float> weights(first.value_count());
  std::ranges::copy(payload_as<float>(decode_model(data_.model)->payload), weights.begin());
  for (uint64_t round = 0; round < kRoundsOfRanks; ++round) {
    const VirtualRound counted = next(round + 1);
    RingSum sum(plan.update.value_count, plan.update.fixed_point);
    uint64_t weight = 0;
    for (size_t i = 0; i < counted.counted.size(); ++i) {
      const uint64_t from = counted.is_buffered ? counted.versions[i] : round;
      const Bytes frame = frame_of(versions[from], counted.counted[i], from, round, plan);
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
}

}  // namespace coterie::test
