// What few bits cost: rounds on the built-in digits in one process, with the devices' trainer, make_update and the
// server's decoding, beside the same rounds with updates as they are.
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "device_sdk/agent/make_update.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/trainer.h"
#include "secure/dp/encode/l2_norm.h"
#include "secure/quantize/level_sum.h"
#include "secure/quantize/shared_rotation.h"
#include "tests/support/matchers.h"
#include "tools/data/federate.h"
#include "tools/model/evaluate.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

constexpr uint32_t kDevices = 20, kCohort = 10, kRounds = 40;  // as a demo has them
constexpr float kClip = 4;

struct Outcome {
  double accuracy = 0;
  double norm_max = 0;  // of an update before the clip; of floats alone
};

UpdateRules rules_of(uint64_t value_count, uint32_t bits) {
  UpdateRules rules{.value_count = value_count, .fixed_point = FixedPointSpec::finest(64, 16384, 1024)};
  if (bits == 0) return rules;
  rules.encoding = UpdateEncoding::quantized;
  rules.clip_l2 = kClip;
  rules.fixed_point = FixedPointSpec::finest(64, 1, 1024);
  rules.quantization = {.bits = bits, .rotated = true};
  return rules;
}

// The mean of a round's updates, as the server has it.
std::vector<float> mean_of(const std::vector<TrainedUpdate>& updates, const UpdateRules& rules, const Digest& model) {
  uint64_t weight = 0;
  for (const TrainedUpdate& update : updates) weight += update.header.weight;
  std::vector<float> mean(rules.value_count);
  if (rules.encoding == UpdateEncoding::quantized) {
    std::vector<uint64_t> sum(rules.value_count);
    for (const TrainedUpdate& update : updates) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += update.levels[i];
    }
    mean_of_levels(sum, updates.size(), weight, rules, mean);
    rotate_whole_back(*update_rotation_signs(model), mean);
    return mean;
  }
  for (size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const TrainedUpdate& update : updates) sum += static_cast<double>(update.delta[i]) * update.header.weight;
    mean[i] = static_cast<float>(sum / static_cast<double>(weight));
  }
  return mean;
}

Outcome run(uint32_t bits, uint64_t seed) {
  const FederatedData data =
      *federate({.source = "digits", .split = {SplitKind::dirichlet, 0.3}, .devices = kDevices, .seed = seed});
  std::vector<DatasetSource> shards;
  for (uint32_t device = 0; device < kDevices; ++device) {
    shards.push_back(*DatasetSource::load(dataset_file(data.shard(device))));
  }
  const TrainingSettings training{.batch_size = 16, .local_epochs = 2};
  Model model = *Model::load(*make_model(ModelKind::cnn, {8, 8, 1}, 10, seed));
  const UpdateRules rules = rules_of(model.value_count(), bits);
  Outcome outcome;
  Prng draw(seed);
  for (uint64_t round = 1; round <= kRounds; ++round) {
    const Digest digest = model.digest();
    std::vector<uint32_t> cohort(kDevices);
    std::iota(cohort.begin(), cohort.end(), 0u);
    for (uint32_t i = 0; i < kCohort; ++i) std::swap(cohort[i], cohort[i + draw.below(kDevices - i)]);
    cohort.resize(kCohort);
    Plan plan;
    plan.training = training;
    plan.update = rules;
    const UpdateLayout layout = *UpdateLayout::of(model, model.value_count(), plan);
    std::vector<TrainedUpdate> updates;
    for (const uint32_t device : cohort) {
      const uint64_t training_seed = Prng::derived(seed * 1'000'003 + device, round).next();
      Result<Trainer> trainer = Trainer::create(model, training, shards[device], training_seed);
      EXPECT_TRUE(is_ok(trainer));
      while (!trainer->finished()) EXPECT_TRUE(is_ok(trainer->step()));
      updates.push_back(
          *make_update(layout, *trainer, shards[device].size(), training, rules, {digest, training_seed}));
      if (bits == 0) outcome.norm_max = std::max(outcome.norm_max, *l2_norm(updates.back().delta));
    }
    std::vector<float> weights = mean_of(updates, rules, digest);
    const std::span<const float> before = model.parameters();
    for (size_t i = 0; i < weights.size(); ++i) weights[i] += before[i];
    model = *Model::load(model.file_with(weights));
  }
  const ByteView file = model.file();
  outcome.accuracy = evaluate(Bytes(file.begin(), file.end()), dataset_file(*data.held_out))->accuracy;
  return outcome;
}

TEST(QuantizedRounds, LearnDigitsAsWellAsFloats) {
  const auto mean_accuracy = [&](uint32_t bits) {
    double sum = 0;
    for (const uint64_t seed : {1u, 2u, 3u}) {
      const Outcome outcome = run(bits, seed);
      std::printf("%2u bits, seed %d: accuracy %.4f, norm at most %.2f\n", bits, static_cast<int>(seed),
                  outcome.accuracy, outcome.norm_max);
      std::fflush(stdout);
      sum += outcome.accuracy / 3;
    }
    return sum;
  };
  const double floats = mean_accuracy(0);
  EXPECT_GT(floats, 0.9);
  for (const uint32_t bits : {4u, 6u, 8u}) EXPECT_GT(mean_accuracy(bits), floats - 0.01) << bits << " bits";
}

}  // namespace
}  // namespace coterie::test
