// Weights as int8: rounding, ranges, equalised layers, and what is kept of them.
#include "tools/model/quantise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/random.h"
#include "device_sdk/runtime/int8_grid.h"
#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/stored_weights.h"
#include "tests/support/matchers.h"
#include "tools/model/equalise.h"
#include "tools/model/fold_norms.h"
#include "tools/model/mean_activation.h"
#include "tools/model/partial_model.h"
#include "tools/model/rounded_model.h"
#include "tools/model/width_choice.h"
#include "tools/model/width_search.h"

namespace coterie {
namespace {

using namespace test;
using testing::ElementsAre;

TEST(Int8Range, RoundsToNearestTiesToEven) {
  // Column 0 ends at 127, so its scale is 1; column 1 at 1.
  const std::vector<float> values = {127, 1, .5f, 0, 1.5f, -1, -2.5f, .25f};
  const Int8Weights weights = to_int8(values, {4, 2}, 0, 1, RangeRule::min_max);
  EXPECT_THAT(weights.form.scales, ElementsAre(1.0f, 1.0f / 127));
  EXPECT_THAT(weights.values, ElementsAre(127, 127, 0, 0, 2, -127, -2, 32));
  EXPECT_EQ(from_int8(weights, {4, 2})[4], 2);
  // A channel of zeros has some scale, and stays 0.
  const Int8Weights zeros = to_int8(std::vector<float>(4), {2, 2}, 0, 1, RangeRule::least_mse);
  EXPECT_THAT(from_int8(zeros, {2, 2}), ElementsAre(0, 0, 0, 0));
}

TEST(Int8Range, OneBitIsTheSignAndTheMeanMagnitude) {
  const std::vector<float> values = {1, -8, -2, 0, 3, 4};
  for (const RangeRule rule : {RangeRule::min_max, RangeRule::least_mse}) {
    const StoredWeights weights = to_integers(values, {3, 2}, 0, 1, rule, 1);
    EXPECT_THAT(weights.form.scales, ElementsAre(2.0f, 4.0f));
    EXPECT_THAT(from_integers(weights, {3, 2}), ElementsAre(2, -4, -2, 4, 2, 4));
  }
  EXPECT_THAT(to_integers(values, {3, 2}, 0, 1, RangeRule::min_max, 16).values[1], -32767);
}

// Against every choice there is.
TEST(WidthChoice, LosesLeastWithinTheBytes) {
  Prng prng(5);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::vector<WidthOption>> weights(3);
    for (auto& options : weights) {
      for (int o = 0; o < 4; ++o) options.push_back({64 * (1 + prng.below(30)), prng.uniform(0, 1)});
    }
    const uint64_t bytes_max = 64 * (10 + prng.below(60));
    double least = 1e9;
    for (size_t c = 0; c < 64; ++c) {
      const WidthOption &a = weights[0][c % 4], &b = weights[1][c / 4 % 4], &d = weights[2][c / 16];
      if (a.bytes + b.bytes + d.bytes <= bytes_max) least = std::min(least, a.loss + b.loss + d.loss);
    }
    const auto chosen = least_loss(weights, bytes_max);
    ASSERT_EQ(chosen.has_value(), least < 1e9) << round;
    if (!chosen) continue;
    double loss = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < 3; ++i) loss += weights[i][(*chosen)[i]].loss, bytes += weights[i][(*chosen)[i]].bytes;
    EXPECT_DOUBLE_EQ(loss, least) << round;
    EXPECT_LE(bytes, bytes_max);
  }
}

TEST(WidthChoice, WhatFitsToTheByteIsFound) {
  // Pieces of 61 bytes would count 10,000,000 as more than there is room for.
  const std::vector<std::vector<WidthOption>> weights = {{{500'001, 1}}, {{499'999, 1}, {600'000, 0}}};
  EXPECT_THAT(least_loss(weights, 1'000'000).value(), ElementsAre(0u, 0u));
  EXPECT_FALSE(least_loss(weights, 999'999));
}

TEST(Int8Range, TheLeastErrorIsNeverMoreThanThatOfTheWholeRange) {
  Prng prng(4);
  std::vector<float> values(4000);
  for (float& value : values) value = static_cast<float>(prng.uniform(-1, 1));
  values[17] = 3;  // one that stands out
  const auto lost = [&](RangeRule rule) {
    return loss_of(values, from_int8(to_int8(values, {4000, 1}, 0, 1, rule), {4000, 1})).mean_squared_error;
  };
  // Uniform rounding of a range r loses r^2 / 12 of a step: 3 / 127 squared over 12.
  EXPECT_NEAR(lost(RangeRule::min_max), 9.0 / 127 / 127 / 12, 4e-6);
  EXPECT_LE(lost(RangeRule::least_mse), lost(RangeRule::min_max));
}

// Two layers of images and two linear ones; `scales` divides what one layer makes and multiplies what reads it.
Model network(uint64_t seed, const std::vector<float>& scales = {}) {
  ModelBuilder build("net", {6, 6, 2}, seed);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 6, .kernel = 3}));
  x = build.max_pool2d(build.relu(build.conv2d(x, {.filters = 6, .kernel = 3})), {});
  Result<Bytes> file = build.finish(build.dense(build.relu(build.dense(build.flatten(x), 24)), 4));
  EXPECT_OK(file);
  Model model = *Model::load(std::move(*file));
  if (scales.empty()) return model;
  std::vector<float> values(model.parameters().begin(), model.parameters().end());
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.name != "conv1.weight" && tensor.name != "conv2.weight") continue;
    for (uint64_t i = 0; i < elements(tensor.shape); ++i) {
      float& value = values[tensor.payload_offset / sizeof(float) + i];
      // [kh, kw, in, out]: the outputs of the first, the inputs of the second.
      if (tensor.name == "conv1.weight") value *= scales[i % 6];
      else value /= scales[i / 6 % 6];
    }
  }
  return *Model::load(model.file_with(values));
}

// Random inputs with the classes that a model gives them: whatever changes the model shows as accuracy and loss.
class Taught final : public ExampleSource {
 public:
  // A teacher of `classes` outputs.
  Taught(const Model& teacher, uint64_t count, uint64_t seed, size_t classes = 4)
      : width_(elements(teacher.input_shape())) {
    Prng prng(seed);
    inputs_.resize(count * width_);
    for (float& value : inputs_) value = static_cast<float>(prng.uniform(-1, 1));
    std::vector<float> outputs(count * classes);
    const std::vector<std::span<const float>> inputs = {inputs_};
    Result<Predictor> predictor = Predictor::create(teacher, static_cast<uint32_t>(count));
    EXPECT_OK(predictor);
    EXPECT_OK(predictor->run(inputs, count, outputs));
    for (uint64_t i = 0; i < count; ++i) {
      const auto row = std::span<const float>(outputs).subspan(i * classes, classes);
      labels_.push_back(static_cast<int32_t>(std::ranges::max_element(row) - row.begin()));
      least_.push_back(static_cast<int32_t>(std::ranges::min_element(row) - row.begin()));
    }
  }
  // The classes that the teacher thinks least of.
  void turn_round() { labels_ = least_; }
  uint64_t size() const override { return labels_.size(); }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::copy(std::span(inputs_).subspan(index * width_, width_), to.features().begin());
    to.labels()[0] = labels_[index];
    return {};
  }

 private:
  uint64_t width_;
  std::vector<float> inputs_;
  std::vector<int32_t> labels_, least_;
};

TEST(Equalise, TheFunctionStays) {
  const Model model = network(1, {1, 64, .05f, 8, .5f, 300});
  const std::vector<float> flat = equalised(model);
  EXPECT_FALSE(std::ranges::equal(flat, model.parameters()));
  const Model other = *Model::load(model.file_with(flat));
  Prng prng(2);
  std::vector<float> input(72), expected(4), seen(4);
  for (float& value : input) value = static_cast<float>(prng.uniform(-1, 1));
  const std::vector<std::span<const float>> inputs = {input};
  ASSERT_OK(Predictor::create(model, 1)->run(inputs, 1, expected));
  ASSERT_OK(Predictor::create(other, 1)->run(inputs, 1, seen));
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(seen[i], expected[i], 2e-5 * (1 + std::fabs(expected[i]))) << i;
}

// What a model answers beside its own output keeps its values, and hides nothing of the layers.
TEST(FurtherOutputs, AreNotFoldedIntoLayers) {
  ModelBuilder build("two", {3}, 7);
  const TensorId hidden = build.relu(build.dense(build.input(), 5));
  const TensorId own = build.dense(hidden, 4);
  const Model alone = *Model::load(*build.finish(own)), both = *Model::load(*build.finish(own, std::span(&hidden, 1)));
  EXPECT_FALSE(std::ranges::equal(equalised(alone), alone.parameters()));
  EXPECT_TRUE(std::ranges::equal(equalised(both), both.parameters()));
  Taught examples(both, 4, 2);
  const auto of_hidden = mean_activation(both, hidden, examples, 1);
  ASSERT_OK(of_hidden);
  EXPECT_EQ(*of_hidden, *mean_activation(alone, hidden, examples, 1));

  ModelBuilder normed("normed", {3}, 7);
  const TensorId raw = normed.dense(normed.input(), 5);
  const TensorId answer = normed.dense(normed.batch_norm(raw), 4);
  EXPECT_EQ(without_norms(*Model::load(*normed.finish(answer)))->graph().ops.size(), 2u);
  const auto kept = without_norms(*Model::load(*normed.finish(answer, std::span(&raw, 1))));
  ASSERT_OK(kept);
  EXPECT_EQ(kept->graph().ops.size(), 3u);
}

// The middle layer of two, by the output of the first one alone.
TEST(MeanActivation, IsThatOfTheLayersBefore) {
  ModelBuilder build("two", {3}, 7);
  const TensorId hidden = build.relu(build.dense(build.input(), 5));
  const Model model = *Model::load(*build.finish(build.dense(hidden, 4)));
  ModelBuilder first("one", {3}, 7);
  const Model one = *Model::load(*first.finish(first.relu(first.dense(first.input(), 5))));
  Taught examples(model, 40, 2);
  std::vector<double> inputs(3), expected(5);
  Result<Predictor> predictor = Predictor::create(one, 1);
  ASSERT_OK(predictor);
  for (uint64_t i = 0; i < 40; ++i) {
    std::vector<float> x(3), y(5), target(1);
    const std::vector<Example::Place> places = {x};
    ASSERT_OK(examples.read(i, Example(places, target)));
    const std::vector<std::span<const float>> views = {x};
    ASSERT_OK(predictor->run(views, 1, y));
    for (size_t k = 0; k < 3; ++k) inputs[k] += static_cast<double>(x[k]) / 40;
    for (size_t k = 0; k < 5; ++k) expected[k] += static_cast<double>(y[k]) / 40;
  }
  const auto of_input = mean_activation(model, model.graph().inputs[0], examples, 1);
  const auto of_hidden = mean_activation(model, hidden, examples, 1);
  ASSERT_OK(of_input);
  ASSERT_OK(of_hidden);
  EXPECT_THAT(*of_input, testing::Pointwise(testing::DoubleNear(1e-9), inputs));
  EXPECT_THAT(*of_hidden, testing::Pointwise(testing::DoubleNear(1e-6), expected));
}

// The model with channels of very different sizes is the same function as before, and loses more: equalising cures it.
TEST(Quantise, ARescaledModelIsCured) {
  const Model model = network(1, {1, 64, .05f, 8, .5f, 300});
  Taught calibration(model, 200, 3), judges(model, 200, 4);
  const QuantiseSettings settings{.loss = {.kind = Loss::softmax_cross_entropy}, .keep = {}};
  const Result<QuantiseReport> report = quantise(model, calibration, judges, settings);
  ASSERT_OK(report);
  EXPECT_EQ(report->before.accuracy, 1);
  EXPECT_GE(report->after.accuracy, .97);
  EXPECT_LE(report->calibration_loss, report->calibration_plain);
  for (const QuantisedLayer& layer : report->layers) EXPECT_GT(layer.loss.cosine, .999) << layer.name;
}

TEST(Quantise, TheFileIsTheModelThatWasJudged) {
  const Model model = network(5);
  Taught calibration(model, 100, 3), judges(model, 100, 4);
  const QuantiseSettings settings{.loss = {.kind = Loss::softmax_cross_entropy}, .keep = {"conv1.*"}};
  const Result<QuantiseReport> report = quantise(model, calibration, judges, settings);
  ASSERT_OK(report);
  for (const QuantisedLayer& layer : report->layers) EXPECT_NE(layer.name, "conv1.weight");
  Result<Bytes> expanded = expand_model(report->file);
  ASSERT_OK(expanded);
  const Result<Model> loaded = Model::load(std::move(*expanded));
  ASSERT_OK(loaded);
  Result<Evaluator> evaluator = Evaluator::create(*loaded, settings.loss, 64);
  ASSERT_OK(evaluator);
  const Result<Evaluation> again = evaluator->run(loaded->parameters(), judges);
  ASSERT_OK(again);
  EXPECT_EQ(again->loss_mean, report->after.loss_mean);
  EXPECT_EQ(again->accuracy, report->after.accuracy);
}

// Large enough that a file is mostly weights.
Model wide_network() {
  ModelBuilder build("wide", {48}, 3);
  const TensorId x = build.relu(build.dense(build.input(), 96));
  return *Model::load(*build.finish(build.dense(build.relu(build.dense(x, 48)), 4)));
}

TEST(Quantise, WidthsAreFoundForASize) {
  const Model model = wide_network();
  Taught calibration(model, 150, 3), judges(model, 200, 4);
  QuantiseSettings settings{.loss = {.kind = Loss::softmax_cross_entropy}, .target_ratio = 5, .keep = {}};
  const Result<QuantiseReport> report = quantise(model, calibration, judges, settings);
  ASSERT_OK(report);
  EXPECT_LE(5 * report->file.size(), model.file().size());
  EXPECT_GE(11 * report->file.size(), 2 * model.file().size()) << "what fits is used";
  ASSERT_EQ(report->layers.size(), 3u);
  for (const QuantisedLayer& layer : report->layers) EXPECT_TRUE(layer.price) << layer.name;
  Result<Bytes> expanded = expand_model(report->file);
  ASSERT_OK(expanded);
  const Result<Model> loaded = Model::load(std::move(*expanded));
  ASSERT_OK(loaded);
  Result<Evaluator> evaluator = Evaluator::create(*loaded, settings.loss, 64);
  ASSERT_OK(evaluator);
  EXPECT_EQ(evaluator->run(loaded->parameters(), judges)->loss_mean, report->after.loss_mean);

  // No worse than one width for all of them, the widest that fits.
  settings.target_ratio = std::nullopt;
  settings.weight_bits = 4;
  const Result<QuantiseReport> even = quantise(model, calibration, judges, settings);
  ASSERT_OK(even);
  EXPECT_LE(5 * even->file.size(), model.file().size());
  settings.weight_bits = 5;
  EXPECT_GT(5 * quantise(model, calibration, judges, settings)->file.size(), model.file().size());
  EXPECT_LE(report->calibration_loss, even->calibration_loss);

  settings.target_ratio = 40;
  EXPECT_ERROR(quantise(model, calibration, judges, settings), ErrorCode::invalid_argument,
               "with 1 bit a weight it has");
}

// By 2 bits; with 7 there is nothing to make up for.
TEST(Quantise, FewBitsMakeUpForEachOther) {
  const Model model = wide_network();
  Taught calibration(model, 300, 3), judges(model, 200, 4);
  QuantiseSettings settings{.loss = {.kind = Loss::softmax_cross_entropy}, .weight_bits = 2, .keep = {}};
  const Result<QuantiseReport> report = quantise(model, calibration, judges, settings);
  ASSERT_OK(report);
  const auto is_compensated = [](const QuantisedLayer& layer) { return layer.form.is_compensated; };
  EXPECT_TRUE(std::ranges::any_of(report->layers, is_compensated));
  Result<Bytes> expanded = expand_model(report->file);
  ASSERT_OK(expanded);
  const Result<Model> loaded = Model::load(std::move(*expanded));
  ASSERT_OK(loaded);
  Result<Evaluator> evaluator = Evaluator::create(*loaded, settings.loss, 64);
  ASSERT_OK(evaluator);
  EXPECT_EQ(evaluator->run(loaded->parameters(), judges)->loss_mean, report->after.loss_mean);
  settings.weight_bits = 7;
  EXPECT_TRUE(std::ranges::none_of(quantise(model, calibration, judges, settings)->layers, is_compensated));
}

// The other way round: whoever wants the class that the model thinks least of loses by each output that comes nearer to
// the model's own. The remedy is refused.
TEST(Quantise, IntegersThatMakeUpAreRefusedWhereTheLossRises) {
  const Model model = wide_network();
  Taught calibration(model, 300, 3), judges(model, 50, 4);
  calibration.turn_round();
  const QuantiseSettings settings{.loss = {.kind = Loss::softmax_cross_entropy}, .weight_bits = 2, .keep = {}};
  const Result<QuantiseReport> report = quantise(model, calibration, judges, settings);
  ASSERT_OK(report);
  EXPECT_LE(report->calibration_loss, report->calibration_plain);
  EXPECT_LT(report->calibration_loss, report->calibration_exact);
  for (const QuantisedLayer& layer : report->layers) EXPECT_FALSE(layer.form.is_compensated) << layer.name;
}

// With few bits a layer behind others that are rounded: its outputs are those of float32 on average, and nearer to them
// than without regard to the others.
TEST(RoundedModel, IntegersMakeUpForLayersBefore) {
  ModelBuilder build("two", {6, 6, 2}, 5);
  const TensorId x = build.relu(build.conv2d(build.input(), {.filters = 8, .kernel = 3, .pad = 1}));
  const TensorId y = build.conv2d(x, {.filters = 8, .kernel = 3, .pad = 1, .groups = 8});
  const Model model = *Model::load(*build.finish(build.flatten(y)));
  Taught examples(model, 120, 3, 288);
  const std::vector<float> exact(model.parameters().begin(), model.parameters().end());
  RoundedModel rounded(model, exact, int8_weights(model.graph()), {.bits = 2, .rule = RangeRule::least_mse});
  ASSERT_EQ(rounded.size(), 2u);
  ASSERT_OK(learn_means(rounded, examples, 1));
  const OpInfo* const op = sole_reader(model.graph(), rounded.tensor(1));
  const auto moments = [&](const RoundedModel& before) {
    return **input_moments(model, *Model::load(model.file_with(before.rounded())), *op, examples, 1);
  };
  // Mean and mean square of what channels are off by.
  const auto apart = [&](const RoundedModel& of) {
    const Model now = *Model::load(model.file_with(of.rounded()));
    std::vector<double> mean(8);
    double square = 0;
    EXPECT_OK(for_each_activation_pair(model, now, y, examples, 1, [&](auto before, auto after) {
      for (size_t i = 0; i < before.size(); ++i) {
        const double off = static_cast<double>(after[i] - before[i]);
        mean[i % 8] += off / (120 * 36);
        square += off * off;
      }
    }));
    return std::pair(mean, square);
  };
  RoundedModel blind = rounded;
  blind.compensate(1, **input_moments(model, model, *op, examples, 1));
  const double square_before = apart(rounded).second, square_blind = apart(blind).second;
  rounded.compensate(1, moments(rounded));
  EXPECT_TRUE(rounded.form(1).is_bias_corrected);
  const auto [mean, square] = apart(rounded);
  for (const double each : mean) EXPECT_NEAR(each, 0, 1e-5);
  EXPECT_LT(square, square_blind);
  EXPECT_LT(square, .9 * square_before);
  // Its bias can be had without the correction, and back.
  const std::vector<float> corrected = rounded.rounded();
  WeightForm form = rounded.form(1);
  form.is_bias_corrected = false;
  rounded.change(1, form);
  EXPECT_NE(rounded.rounded(), corrected);
  form.is_bias_corrected = true;
  rounded.change(1, form);
  EXPECT_EQ(rounded.rounded(), corrected);
}

// Such a model (one that has diverged) has no prices, and gets bits by what rounding does to its weights.
TEST(Quantise, WidthsOfAModelWhoseLossIsNoNumberFillTheSize) {
  const Model model = wide_network();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  RoundedModel rounded(model, {model.parameters().begin(), model.parameters().end()}, int8_weights(model.graph()), {});
  ASSERT_OK(search_widths({.loss = [](const std::vector<float>&) -> Result<double> { return kInfinite; },
                           .loss_exact = kInfinite,
                           .file_bytes_max = model.file().size() / 5},
                          rounded));
  EXPECT_LE(5 * rounded.file()->size(), model.file().size());
  EXPECT_GE(11 * rounded.file()->size(), 2 * model.file().size());
}

TEST(Quantise, WhatCannotBeDone) {
  ModelBuilder build("small", {4}, 1);
  const Model model = *Model::load(*build.finish(build.dense(build.input(), 4)));
  Taught examples(model, 8, 1);
  const LossSettings loss{.kind = Loss::softmax_cross_entropy};
  EXPECT_ERROR(quantise(model, examples, examples, {.loss = loss, .keep = {}}), ErrorCode::invalid_argument,
               "no weight of at least 64 elements");
  EXPECT_ERROR(quantise(network(1), examples, examples, {.loss = loss, .keep = {"nothing"}}),
               ErrorCode::invalid_argument, "--keep nothing");
}

}  // namespace
}  // namespace coterie
