// Running statistics of batch norms: what a round makes of them, against the statistics of all examples together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "proto/messages/running_statistics.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::TestUpdate;

constexpr uint64_t kChannels = 16, kValues = 64;
// Where they lie in the payload: the variance before the mean, which nobody may count on.
constexpr uint64_t kVariance = 0, kMean = 16, kScale = 32, kBias = 48;

ModelGraph normed_graph(bool is_frozen = false) {
  const auto vector = [](const char* name, TensorRole role, uint64_t first) {
    return TensorInfo{.name = name, .role = role, .shape = {kChannels}, .payload_offset = first * sizeof(float)};
  };
  ModelGraph graph;
  graph.name = "normed";
  graph.tensors = {{.name = "x", .role = TensorRole::input, .shape = {kChannels}},
                   vector("variance", TensorRole::state, kVariance),
                   vector("mean", TensorRole::state, kMean),
                   vector("scale", TensorRole::parameter, kScale),
                   vector("bias", TensorRole::parameter, kBias),
                   {.name = "y"}};
  NormAttributes norm;
  norm.is_frozen = is_frozen;
  graph.ops = {{OpKind::batch_norm, "bn", {0, 3, 4, 2, 1}, {5}, norm}};
  graph.inputs = {0};
  graph.output = 5;
  return graph;
}

Bytes normed_model(const std::vector<float>& values, bool is_frozen = false) {
  Bytes file = encode_head(normed_graph(is_frozen), values.size() * sizeof(float));
  const ByteView payload = test::bytes_of(values);
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

std::vector<float> base_values() {
  std::vector<float> values = test::some_values(1, kValues, 1);
  for (uint64_t i = 0; i < kChannels; ++i) values[kVariance + i] = 0.5f + std::abs(values[kVariance + i]);
  return values;
}

// A device's examples, one number a channel each, and what training would set its statistics to.
struct Device {
  std::vector<std::vector<double>> examples;
  double mean(uint64_t channel) const {
    double sum = 0;
    for (const auto& example : examples) sum += example[channel];
    return sum / static_cast<double>(examples.size());
  }
  double variance(uint64_t channel) const {
    double sum = 0;
    for (const auto& example : examples) sum += std::pow(example[channel] - mean(channel), 2);
    return sum / static_cast<double>(examples.size());
  }
};

// Devices that have seen different parts of the world: their means are far apart beside their deviations.
std::vector<Device> some_devices(double apart) {
  Prng prng(5);
  std::vector<Device> devices(4);
  for (size_t d = 0; d < devices.size(); ++d) {
    for (size_t n = 0; n < 10 + 7 * d; ++n) {
      devices[d].examples.emplace_back();
      for (uint64_t c = 0; c < kChannels; ++c) {
        devices[d].examples.back().push_back(apart * static_cast<double>(d) + prng.normal() * (0.1 + 0.1 * double(c)));
      }
    }
  }
  return devices;
}

// trained - given, as the trainer says it.
std::vector<float> delta_of(const Device& device, const std::vector<float>& base) {
  std::vector<float> delta(kValues);
  for (uint64_t c = 0; c < kChannels; ++c) {
    delta[kMean + c] = static_cast<float>(device.mean(c) - double(base[kMean + c]));
    delta[kVariance + c] = static_cast<float>(device.variance(c) - double(base[kVariance + c]));
    delta[kScale + c] = 0.01f * static_cast<float>(c);
  }
  return delta;
}

// With room for the squares of means that are far apart: within the bound the statistics are exact.
const auto pooled = [](HorizontalSettings& settings) {
  settings.strategy.statistics = Statistics::pooled;
  settings.update.value_abs_max = 256;
};

// One round of these devices; `make` is the device's part behind training.
std::vector<float> after_round(FrozenRound& round, const std::vector<Device>& devices, const std::vector<float>& base) {
  const UpdateRules rules = plan_of(round.job_.spec.horizontal(), round.job_.id, kValues).update;
  std::vector<TestUpdate> updates;
  for (const Device& device : devices) {
    updates.push_back({delta_of(device, base), static_cast<uint32_t>(device.examples.size())});
    if (rules.encoding != UpdateEncoding::float32_pooled) continue;
    encode_statistics(running_statistics(normed_graph()), rules.fixed_point.value_abs_max, updates.back().values);
  }
  round.add_partial("p", updates);
  const auto finalized = round.finalize();
  EXPECT_OK(finalized);
  return finalized ? round.weights_of(finalized->model) : std::vector<float>(kValues, NAN);
}

TEST(PooledStatistics, AreThoseOfAllExamplesTogether) {
  const std::vector<float> base = base_values();
  for (const double apart : {0.0, 1.0, 3.0}) {
    const std::vector<Device> devices = some_devices(apart);
    Device all;
    for (const Device& d : devices) all.examples.insert(all.examples.end(), d.examples.begin(), d.examples.end());
    FrozenRound round(StrategySettings(), normed_model(base), pooled);
    const std::vector<float> after = after_round(round, devices, base);
    for (uint64_t c = 0; c < kChannels; ++c) {
      EXPECT_NEAR(after[kMean + c], all.mean(c), 1e-6 * (1 + apart)) << c;
      EXPECT_NEAR(after[kVariance + c], all.variance(c), 1e-5 * (1 + apart * apart)) << c;
    }
  }
}

TEST(PooledStatistics, AreTheSameUnderEveryStrategy) {
  const std::vector<float> base = base_values();
  const std::vector<Device> devices = some_devices(1);
  std::vector<float> first;
  for (const StrategyRule* rule : strategies()) {
    if (!rule->scalars.empty()) continue;  // devices tell how far it goes: strategy_test, closed_forms_test
    FrozenRound round(StrategySettings::of(rule->name).with("server_learning_rate", 0.7f), normed_model(base), pooled);
    std::vector<float> after = after_round(round, devices, base);
    EXPECT_NE(after[kScale + 5], base[kScale + 5]) << rule->name << " moves parameters";
    after.resize(2 * kChannels);  // the statistics
    if (first.empty()) first = after;
    EXPECT_EQ(after, first) << rule->name;
  }
}

// A job of before pooling: its plan says float32, and its devices send differences of variances.
TEST(AveragedStatistics, AreTheMeanOfTheDevicesWhateverTheStrategy) {
  const std::vector<float> base = base_values();
  const std::vector<Device> devices = some_devices(1);
  FrozenRound round(StrategySettings::of("fedadam"), normed_model(base));
  const std::vector<float> after = after_round(round, devices, base);
  double examples = 0;
  for (const Device& device : devices) examples += static_cast<double>(device.examples.size());
  for (uint64_t c = 0; c < kChannels; ++c) {
    double mean = 0, variance = 0;
    for (const Device& device : devices) {
      mean += static_cast<double>(device.examples.size()) / examples * device.mean(c);
      variance += static_cast<double>(device.examples.size()) / examples * device.variance(c);
    }
    EXPECT_NEAR(after[kMean + c], mean, 1e-5) << c;
    EXPECT_NEAR(after[kVariance + c], variance, 1e-5) << c;
  }
}

TEST(FrozenStatistics, AreNotMovedByAnything) {
  const std::vector<float> base = base_values();
  FrozenRound round(StrategySettings::of("fedavgm"), normed_model(base, true));
  round.add_partial("p", {{std::vector<float>(kValues, 0.25f), 3}});
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  const std::vector<float> after = round.weights_of(finalized->model);
  EXPECT_TRUE(std::equal(base.begin(), base.begin() + 2 * kChannels, after.begin()));
  EXPECT_NE(after[kScale], base[kScale]);
}

// Whatever a sum has there, noise or a device's own words: a model whose padding is not 0 is none.
TEST(Padding, StaysAsItIs) {
  ModelGraph graph = normed_graph();
  graph.tensors[4].shape = {kChannels / 2};  // the bias: behind it the payload holds no tensor
  std::vector<float> base = base_values();
  std::fill(base.begin() + kBias + kChannels / 2, base.end(), 0.0f);
  Bytes file = encode_head(graph, base.size() * sizeof(float));
  const ByteView payload = test::bytes_of(base);
  file.insert(file.end(), payload.begin(), payload.end());
  FrozenRound round(StrategySettings(), file);
  round.add_partial("p", {{std::vector<float>(kValues, 0.25f), 3}});
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  const std::vector<float> after = round.weights_of(finalized->model);
  for (uint64_t i = kBias; i < kValues; ++i) {
    EXPECT_EQ(after[i], i < kBias + kChannels / 2 ? base[i] + 0.25f : 0) << i;
  }
}

TEST(Release, IsRefusedWhereAVarianceWouldBeBelowZero) {
  const std::vector<float> base = base_values();
  FrozenRound round(StrategySettings(), normed_model(base));
  std::vector<float> hostile(kValues);
  hostile[kVariance + 3] = -5;
  round.add_partial("p", {{hostile, 1}});
  EXPECT_ERROR(round.finalize(), ErrorCode::invalid_argument, "a batch norm's variance below 0");
}

TEST(Release, IsRefusedWhereItsEvaluationIsNotFinite) {
  for (const ModelEvaluation& bad : {ModelEvaluation{std::nan(""), 0.1}, {INFINITY, 0.1}, {0.5, std::nan("")}}) {
    FrozenRound round(StrategySettings(), normed_model(base_values()));
    round.job_.spec.horizontal().evaluation = *round.blobs_.put(as_bytes("a data set"));
    round.add_partial("p", {{std::vector<float>(kValues), 1}});
    EXPECT_ERROR(round.finalize(
                     [&](const Bytes&, const Bytes&, const TrainingSettings&) { return Result<ModelEvaluation>(bad); }),
                 ErrorCode::invalid_argument, "evaluation is not finite");
  }
}

}  // namespace
}  // namespace coterie
