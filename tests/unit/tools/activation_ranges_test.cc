// Ranges that devices have counted against those of all their examples in one place, and what noise makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "device_sdk/agent/count_activations.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/model_part.h"
#include "device_sdk/runtime/predictor.h"
#include "fl_server/json/ranges_json.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/model_outputs.h"
#include "proto/messages/range_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "tests/support/matchers.h"
#include "tools/model/quantise_full.h"
#include "tools/ranges/range_answer.h"

namespace coterie {
namespace {

using ::testing::HasSubstr;

constexpr size_t kClasses = 4, kWidth = 72;

// With norms, which devices run and int8 has folded.
Model net() {
  ModelBuilder build("net", {6, 6, 2}, 3);
  TensorId x = build.relu(build.batch_norm(build.conv2d(build.input(), {.filters = 6, .kernel = 3, .bias = false})));
  x = build.relu(build.dense(build.flatten(build.max_pool2d(x, {.kernel = 2, .stride = 2})), 12));
  return *Model::load(*build.finish(build.dense(x, kClasses)));
}

// Some of the same random images, with the classes that the net gives them.
class Shard final : public ExampleSource {
 public:
  Shard(uint64_t first, uint64_t count) : inputs_(count * kWidth), outputs_(count * kClasses) {
    for (uint64_t i = 0; i < count; ++i) {
      Prng prng(first + i);
      for (size_t k = 0; k < kWidth; ++k) inputs_[i * kWidth + k] = static_cast<float>(prng.uniform(-1, 1));
    }
    if (count == 0) return;
    const std::vector<std::span<const float>> inputs = {inputs_};
    EXPECT_OK(Predictor::create(net(), static_cast<uint32_t>(count))->run(inputs, count, outputs_));
  }
  uint64_t size() const override { return outputs_.size() / kClasses; }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::copy(std::span(inputs_).subspan(index * kWidth, kWidth), to.features().begin());
    const auto row = std::span(outputs_).subspan(index * kClasses, kClasses);
    to.labels()[0] = static_cast<int32_t>(std::ranges::max_element(row) - row.begin());
    return {};
  }

 private:
  std::vector<float> inputs_, outputs_;
};

// Every tensor that must have a grid, by the names that the net with its norms has for it.
AnalyticsSettings ranging(bool is_normalised, uint32_t values_max, uint32_t steps = 4) {
  AnalyticsSettings analytics;
  AnalyticsRules& rules = analytics.rules;
  rules = {.kind = AnalyticsKind::activation_ranges, .input_values = kWidth, .values_max = values_max};
  rules.evaluation = EvaluationRules{.models = {{net().digest(), net().file().size()}}};
  RangeRules& own = rules.evaluation->ranges.emplace();
  const Result<Int8Layers> layers = int8_layers(net(), Int8Stage::trained);
  EXPECT_OK(layers);
  for (const uint32_t tensor : int8_grid_tensors(*layers)) own.tensors.push_back(net().graph().tensors[tensor].name);
  own.steps = steps;
  own.positions = 50;  // of 96 of the first layer
  own.is_normalised = is_normalised;
  rules.lane_max = range_lane_max(own, values_max);
  EXPECT_OK(validate(rules));
  return analytics;
}

std::vector<float> lanes_of(const AnalyticsRules& rules, ExampleSource& examples) {
  Result<ActivationCounter> counter = ActivationCounter::create(rules, net(), examples.size(), 1);
  EXPECT_OK(counter);
  while (!counter->finished()) EXPECT_OK(counter->step(examples));
  EXPECT_OK(check_range_lanes(rules, counter->lanes()));
  return counter->lanes();
}

ActivationHistograms histograms_in(const AnalyticsSettings& analytics, std::span<const float> table, double noise) {
  const Result<CountedRanges> read = parse_ranges(ranges_answer(analytics, table, noise));
  EXPECT_OK(read);
  const Result<ActivationHistograms> histograms = range_histograms(*read);
  EXPECT_OK(histograms);
  return *histograms;
}

void add(std::span<const float> lanes, std::vector<float>& table) {
  std::ranges::transform(lanes, table, table.begin(), std::plus());
}

// The oracle: what devices count apart is what one counts that has all their examples, and so are the ranges and the
// file, to the bit.
TEST(ActivationRanges, OfASplitAreThoseOfAllExamplesTogether) {
  const AnalyticsSettings analytics = ranging(false, 200);
  std::vector<float> table(lane_count(analytics.rules));
  uint64_t first = 0;
  for (const uint64_t count : {17u, 1u, 40u, 0u, 62u}) {
    Shard shard(first, count);
    add(lanes_of(analytics.rules, shard), table);
    first += count;
  }
  Shard all(0, first);
  const std::vector<float> pooled = lanes_of(analytics.rules, all);
  EXPECT_EQ(table, pooled);
  const Result<FullQuantiseReport> federated = quantise_by_ranges(net(), histograms_in(analytics, table, 0), 8);
  ASSERT_OK(federated);
  EXPECT_EQ(federated->file, quantise_by_ranges(net(), histograms_in(analytics, pooled, 0), 8)->file);
  // Each grid reaches as far as that of values in their own bins: a bin of a quarter of an octave further at most.
  const FullQuantiseSettings local{.loss = {.kind = Loss::softmax_cross_entropy}, .calibration_examples = first};
  const Result<FullQuantiseReport> by_values = quantise_full(net(), all, all, local);
  ASSERT_OK(by_values);
  ASSERT_EQ(federated->layers.size(), by_values->layers.size());
  for (size_t i = 0; i < federated->layers.size(); ++i) {
    EXPECT_TRUE(std::isnan(federated->layers[i].signal_to_noise_db)) << "nothing was measured";
    if (!federated->layers[i].range) continue;
    const float ratio = federated->layers[i].scale / by_values->layers[i].scale;
    EXPECT_GT(ratio, .6f) << federated->layers[i].name;
    EXPECT_LT(ratio, 1.3f) << federated->layers[i].name;
  }
}

// Sums of 200 devices with so much noise that a round costs an epsilon of about 1 and of about 8 with delta 1e-5.
TEST(ActivationRanges, NoiseMovesThemLittle) {
  const AnalyticsSettings analytics = ranging(true, 20, 2);
  const AnalyticsRules rules = rules_of(analytics);
  std::vector<float> exact(lane_count(rules));
  for (uint64_t device = 0; device < 40; ++device) {
    Shard shard(device * 20, 20);
    add(lanes_of(rules, shard), exact);
  }
  for (float& lane : exact) lane *= 5;  // as many devices of each kind
  Shard judges(5'000, 300);
  const FullQuantiseSettings settings{.loss = {.kind = Loss::softmax_cross_entropy}, .calibration_examples = 100};
  const ActivationHistograms without = histograms_in(analytics, exact, 0);
  for (const auto& [multiplier, apart_max] : {std::pair(.6, 1.6), std::pair(3.8, 2.1)}) {
    const double noise = multiplier * l2_sensitivity(rules);
    std::vector<float> table = exact;
    Prng prng(77);
    for (float& lane : table) lane += static_cast<float>(noise * prng.normal());
    const ActivationHistograms with = histograms_in(analytics, table, noise);
    for (const auto& [name, histogram] : with) {
      const ActivationHistogram& other = without.at(name);
      const double ratio = (histogram.high - histogram.low) / (other.high - other.low);
      EXPECT_LT(ratio, apart_max) << name;
      EXPECT_GT(ratio, 1 / apart_max) << name;
    }
    FullQuantiseSettings by_table = settings;
    by_table.ranges = &with;
    const Result<FullQuantiseReport> report = quantise_full(net(), judges, judges, by_table);
    ASSERT_OK(report);
    EXPECT_FALSE(report->is_equalised);
    EXPECT_GE(report->after.accuracy, .96) << multiplier;
  }
}

// Each part ends with its tensor alone, whatever else the model answers.
TEST(ActivationRanges, AreThoseOfModelsOfSeveralOutputs) {
  ModelBuilder build("two", {4}, 3);
  const TensorId x = build.relu(build.dense(build.input(), 5));
  const TensorId own = build.dense(x, 2);
  const TensorId further[] = {build.dense(x, 3)};
  const Model model = *Model::load(*build.finish(own, further));
  const ModelGraph& graph = model.graph();
  ASSERT_EQ(further_outputs(graph).size(), 1u);
  for (uint32_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
    if (graph.tensors[tensor].role != TensorRole::activation) continue;
    const Result<Model> part = model_ending_with(model, tensor);
    ASSERT_OK(part) << graph.tensors[tensor].name;
    EXPECT_TRUE(further_outputs(part->graph()).empty());
    EXPECT_EQ(part->graph().tensors[part->graph().output].name, graph.tensors[tensor].name);
  }
}

TEST(ActivationRanges, BinsThatChanceReachesAreLeftOut) {
  const RangeRules rules{.tensors = {"x"}, .exponent_low = -1, .exponent_high = 2, .steps = 1, .is_normalised = true};
  // Chance reaches 2.9 in one table of twenty with 7 lanes. A tail of 2 beside it counts, one of 2 apart does not.
  const std::vector<double> counts = {2, 0.5, -1, 9, 4, 2, -3};
  EXPECT_EQ(range_weights(rules, counts, 7, 1), (std::vector<double>{0, 0, 0, 80, 15, 3, 0}));
  EXPECT_EQ(range_weights(rules, {{1, 1, 1, 1, 1, 1, 1}}, 7, 1), std::vector<double>(7));
  const ActivationHistogram histogram = range_histogram(rules, range_weights(rules, counts, 7, 1));
  EXPECT_EQ(histogram.low, 0);
  EXPECT_EQ(histogram.high, 2) << "around zero, up to 1, up to 2";
  // Nothing but values around zero has the range of their bin.
  const ActivationHistogram zeros = range_histogram(rules, {{0, 0, 0, 5, 0, 0, 0}});
  EXPECT_EQ(zeros.low, -.5);
  EXPECT_EQ(zeros.high, .5);
  // Unless a table is normalised, sums are counts, whose noise has the mean 0.
  RangeRules plain = rules;
  plain.is_normalised = false;
  EXPECT_EQ(range_weights(plain, counts, 7, 1), (std::vector<double>{0, 0, 0, 9, 4, 2, 0}));
  CountedRanges silent{.model = {}, .rules = rules, .noise_deviation = 4, .counts = {counts}};
  EXPECT_ERROR(range_histograms(silent), ErrorCode::invalid_argument, "no bin of tensor x stands out of the noise");
  silent = {.model = {}, .rules = rules, .noise_deviation = 1, .counts = {{0, 0, 0, 9, 0, 0, 0}}};
  EXPECT_ERROR(range_histograms(silent), ErrorCode::invalid_argument, "no bin of tensor x stands out of the noise");
  silent.noise_deviation = 0;
  EXPECT_OK(range_histograms(silent)) << "as of a relu that is always 0";
  // 81 of 85 are seen, then 81 of 97 with a tail that is not, then what may be noise alone.
  const auto hidden = [](std::vector<double> of) {
    return CountedRanges{
        .model = {},
        .rules = {.tensors = {"x"}, .exponent_low = -1, .exponent_high = 2, .steps = 1, .is_normalised = true},
        .noise_deviation = 1,
        .counts = {std::move(of)}};
  };
  EXPECT_OK(range_histograms(hidden({1, 1, 2, 9, 3, 1, 1})));
  EXPECT_ERROR(range_histograms(hidden({2.8, 2.8, 1, 9, 3, 0, 2.8})), ErrorCode::invalid_argument,
               "noise hides more than a tenth of where the values of tensor x lie");
  EXPECT_ERROR(range_histograms(hidden({0, 0, 0, 0, 3, 0, 0})), ErrorCode::invalid_argument, "noise hides");
}

TEST(ActivationRanges, WhatIsNotOfTheModelIsRefusedByName) {
  AnalyticsSettings analytics = ranging(true, 20);
  Shard shard(0, 3);
  const auto create = [&](const AnalyticsSettings& asked) {
    return ActivationCounter::create(asked.rules, net(), shard.size(), 1);
  };
  std::vector<std::string>& tensors = analytics.rules.evaluation->ranges->tensors;
  tensors.back() = "dense1.weight";
  EXPECT_ERROR(create(analytics), ErrorCode::invalid_argument, "of the name dense1.weight");
  tensors.pop_back();
  ASSERT_OK(create(analytics));
  const std::vector<float> lanes = lanes_of(analytics.rules, shard);
  EXPECT_ERROR(quantise_by_ranges(net(), histograms_in(analytics, lanes, 0), 8), ErrorCode::invalid_argument,
               "which needs one");
  analytics.rules.input_values = kWidth + 1;
  EXPECT_ERROR(create(analytics), ErrorCode::invalid_argument, "input_values is 73");
}

// Whatever stands in the file that is read.
TEST(ActivationRanges, AnAnswerIsJudged) {
  const AnalyticsSettings analytics = ranging(true, 20);
  const nlohmann::json good = ranges_answer(analytics, std::vector<float>(lane_count(analytics.rules), 3), 0.5);
  ASSERT_OK(read_ranges(good.dump()));
  EXPECT_THAT(*ranges_text(good), HasSubstr("values are beyond 2^8"));
  const auto refused = [&](const nlohmann::json& change, std::string_view words) {
    nlohmann::json answer = good;
    answer.merge_patch(change);
    EXPECT_ERROR(read_ranges(answer.dump()), ErrorCode::malformed, words);
  };
  refused({{"schema", "coterie.analytics_result.v1"}}, "it is no coterie.activation_ranges.v1");
  refused({{"model", "12"}}, "/model");
  refused({{"steps", 5}}, "steps must be 1, 2, 4, 8 or 16");
  refused({{"exponent_high", 9}}, "each tensor must have 153 counts");
  refused({{"noise_deviation", -1}}, "noise_deviation");
  refused({{"noise_deviation", 1e300}}, "noise_deviation");
  refused({{"tensors", nlohmann::json::array()}}, "tensors must be 1 to 256 names");
  refused({{"tensors", {{{"name", "x"}}}}}, "/tensors/0/counts");
  refused({{"tensors", {{{"name", "x"}, {"counts", {1, 2}}}}}}, "each tensor must have 145 counts");
  nlohmann::json huge = good;
  huge["tensors"][0]["counts"][3] = 1e200;  // whose square is none
  EXPECT_ERROR(read_ranges(huge.dump()), ErrorCode::malformed, "counts must be within 2^53");
  EXPECT_ERROR(read_ranges("[]"), ErrorCode::malformed, "it is no");
  EXPECT_ERROR(read_ranges("{"), ErrorCode::malformed, "ranges:");
}

}  // namespace
}  // namespace coterie
