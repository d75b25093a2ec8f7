// What updates cost that each device makes small for itself: rounds on the built-in digits in one process, with the
// devices' trainer, make_update and states, and what a server adds of each, beside the same rounds with updates as they
// are. Devices differ as much as a split of 0.1 makes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>

#include "aggregation/accumulate/ring_sum.h"
#include "base/random.h"
#include "device_sdk/agent/make_update.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/codec/update/update_decoder.h"
#include "proto/ring/ring_vector.h"
#include "tests/support/matchers.h"
#include "tools/data/federate.h"
#include "tools/model/evaluate.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

constexpr uint32_t kDevices = 20, kCohort = 10, kRounds = 40;  // as a demo has them

UpdateRules floats(uint64_t value_count) {
  return {.value_count = value_count, .fixed_point = FixedPointSpec::finest(64, 1, 1024)};
}
UpdateRules eden(uint64_t value_count, uint32_t bits) {
  UpdateRules rules = floats(value_count);
  rules.encoding = UpdateEncoding::eden;
  rules.quantization = {.bits = bits};
  return rules;
}
UpdateRules largest(uint64_t value_count, uint64_t one_of, bool has_error_feedback) {
  UpdateRules rules = floats(value_count);
  rules.encoding = UpdateEncoding::top_k;
  rules.top_k = {.sent_count = (value_count + one_of - 1) / one_of,
                 .bits = kTopKFloatBits,
                 .has_error_feedback = has_error_feedback};
  return rules;
}

double accuracy_of(const std::function<UpdateRules(uint64_t)>& rules_of, uint64_t seed) {
  const FederatedData data =
      *federate({.source = "digits", .split = {SplitKind::dirichlet, 0.1}, .devices = kDevices, .seed = seed});
  std::vector<DatasetSource> shards;
  for (uint32_t device = 0; device < kDevices; ++device) {
    shards.push_back(*DatasetSource::load(dataset_file(data.shard(device))));
  }
  Model model = *Model::load(*make_model(ModelKind::cnn, {8, 8, 1}, 10, seed));
  Plan plan;
  plan.training = {.batch_size = 16, .local_epochs = 2};
  plan.update = rules_of(model.value_count());
  EXPECT_OK(validate(plan.update.fixed_point));
  std::map<uint32_t, std::vector<float>> states;
  Prng draw(seed);
  for (uint64_t round = 1; round <= kRounds; ++round) {
    std::vector<uint32_t> cohort(kDevices);
    std::iota(cohort.begin(), cohort.end(), 0u);
    for (uint32_t i = 0; i < kCohort; ++i) std::swap(cohort[i], cohort[i + draw.below(kDevices - i)]);
    cohort.resize(kCohort);
    const UpdateLayout layout = *UpdateLayout::of(model, model.value_count(), plan);
    RingSum sum(plan.update.value_count, plan.update.fixed_point);
    for (const uint32_t device : cohort) {
      const uint64_t training_seed = Prng::derived(seed * 1'000'003 + device, round).next();
      Result<Trainer> trainer = Trainer::create(model, plan.training, shards[device], training_seed);
      EXPECT_OK(trainer);
      while (!trainer->finished()) EXPECT_OK(trainer->step());
      std::vector<float>& state = states[device];
      Result<TrainedUpdate> update = make_update(layout, *trainer, shards[device].size(), plan.training, plan.update,
                                                 {model.digest(), training_seed, {}, state});
      EXPECT_OK(update);
      if (keeps_state(plan)) state = state_after(plan, layout, state, *update);
      EXPECT_OK(put_what_is_added(plan.update, *update));
      EXPECT_OK(sum.add(update->delta, update->header.weight, DeviceId()));
    }
    std::vector<float> weights(model.value_count());
    decode_mean(sum.lanes(), kCohort, plan.update.fixed_point, weights);
    const auto is_parameter = [&](size_t place) {
      return std::ranges::any_of(layout.parameters(), [place](const ValueRange& range) {
        return place >= range.first && place < range.first + range.count;
      });
    };
    const std::span<const float> before = model.parameters();
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = is_parameter(i) ? weights[i] + before[i] : before[i];
    model = *Model::load(model.file_with(weights));
  }
  const ByteView file = model.file();
  return evaluate(Bytes(file.begin(), file.end()), dataset_file(*data.held_out))->accuracy;
}

TEST(SingleUpdateRounds, LearnDigitsAsWellAsFloats) {
  const auto mean_accuracy = [](const char* name, const std::function<UpdateRules(uint64_t)>& rules_of) {
    double sum = 0;
    for (const uint64_t seed : {1u, 2u, 3u}) {
      const double accuracy = accuracy_of(rules_of, seed);
      std::printf("%s, seed %d: accuracy %.4f\n", name, static_cast<int>(seed), accuracy);
      std::fflush(stdout);
      sum += accuracy / 3;
    }
    const UpdateRules rules = rules_of(38'288);
    std::printf("%s: %.4f, %d bytes\n", name, sum,
                static_cast<int>(update_decoder(rules.encoding).payload_bytes_max(rules)));
    return sum;
  };
  const double as_they_are = mean_accuracy("float32", floats);
  EXPECT_GT(as_they_are, 0.9);
  const auto bits = [](uint32_t count) { return [count](uint64_t values) { return eden(values, count); }; };
  const auto one_of = [](uint64_t count, bool feedback) {
    return [count, feedback](uint64_t values) { return largest(values, count, feedback); };
  };
  EXPECT_GT(mean_accuracy("eden, 1 bit", bits(1)), as_they_are - 0.03);
  EXPECT_GT(mean_accuracy("eden, 2 bits", bits(2)), as_they_are - 0.02);
  EXPECT_GT(mean_accuracy("top 10 %", one_of(10, true)), as_they_are - 0.03);
  const double thin = mean_accuracy("top 1 %", one_of(100, true));
  EXPECT_GT(thin, mean_accuracy("top 1 % without error feedback", one_of(100, false)));
}

}  // namespace
}  // namespace coterie::test
