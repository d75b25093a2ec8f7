// Models that compute in int8: ranges, folded norms, and what is kept of the remedies.
#include "tools/model/quantise_full.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/int8/int8_outputs.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/support/matchers.h"
#include "tools/model/fold_norms.h"
#include "tools/model/fold_transposes.h"
#include "tools/model/int8_bias.h"

namespace coterie {
namespace {

using namespace test;

constexpr size_t kBins = ActivationHistogram::kBins;

TEST(ActivationRange, AllOfItWithZeroOnTheGrid) {
  ActivationHistogram histogram{.low = -1, .high = 3};
  histogram.counts[0] = histogram.counts[kBins - 1] = 1;
  const TensorGrid grid = grid_for(histogram, 4, GridRule::min_max);
  EXPECT_EQ(grid.tensor, 4u);
  EXPECT_FLOAT_EQ(grid.scale, 4.0f / 255);
  EXPECT_EQ(grid.zero, -64);  // -128 + 63.75
  // Values of one sign: zero is at the end.
  histogram.low = 0;
  EXPECT_EQ(grid_for(histogram, 0, GridRule::min_max).zero, -128);
  histogram.low = -2, histogram.high = 0;
  EXPECT_EQ(grid_for(histogram, 0, GridRule::min_max).zero, 127);
  // Nothing but zeros has some grid.
  EXPECT_EQ(grid_for({}, 0, GridRule::least_mse), (TensorGrid{0, 1, 0}));
}

TEST(ActivationRange, AFewValuesFarOutAreCut) {
  // A million values in [0, 1), and twenty at 10.
  ActivationHistogram histogram{.low = 0, .high = 10};
  for (size_t i = 0; i < kBins / 10; ++i) histogram.counts[i] = 1'000'000 / (kBins / 10);
  histogram.counts[kBins - 1] = 20;
  EXPECT_FLOAT_EQ(grid_for(histogram, 0, GridRule::min_max).scale, 10.0f / 255);
  EXPECT_NEAR(grid_for(histogram, 0, GridRule::percentile).scale, 1.0f / 255, .01f / 255);
  // By squares: a million times (10 p / 255)^2 / 12 and twenty times (10 - 10 p)^2 are least at p = .94.
  EXPECT_NEAR(grid_for(histogram, 0, GridRule::least_mse).scale, 9.4f / 255, .25f / 255);
}

// Thin tails of a histogram are worth less than finer levels where most values are.
TEST(ActivationRange, TheDivergenceCutsTails) {
  ActivationHistogram histogram{.low = -8, .high = 8};
  for (size_t i = 0; i < kBins; ++i) {
    const double x = (static_cast<double>(i) + .5) * 16 / kBins - 8;
    histogram.counts[i] = static_cast<uint64_t>(1e7 * std::exp(-x * x / 2));
  }
  const float scale = grid_for(histogram, 0, GridRule::divergence).scale;
  EXPECT_LT(scale, 16.0f / 255);
  EXPECT_GE(scale, .3f * 16 / 255);
}

TEST(ActivationRange, EvenlySpreadValuesKeepTheirRange) {
  ActivationHistogram histogram{.low = -1, .high = 1};
  std::ranges::fill(histogram.counts, 100);
  for (const GridRule rule : {GridRule::percentile, GridRule::least_mse, GridRule::divergence}) {
    EXPECT_NEAR(grid_for(histogram, 0, rule).scale, 2.0f / 255, .03f / 255) << to_string(rule);
  }
}

// Norms whose running statistics are not those of the beginning.
Model with_norms(bool bias) {
  ModelBuilder build("norms", {6, 6, 2}, 3);
  TensorId x = build.conv2d(build.input(), {.filters = 5, .kernel = 3, .bias = bias});
  x = build.relu(build.batch_norm(x));
  x = build.batch_norm(build.dense(build.flatten(x), 7, bias));
  const Model model = *Model::load(*build.finish(build.dense(x, 4)));
  std::vector<float> values(model.parameters().begin(), model.parameters().end());
  Prng prng(8);
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (!has_payload(tensor.role) || tensor.shape.size() != 1) continue;
    for (uint64_t i = 0; i < elements(tensor.shape); ++i) {
      values[tensor.payload_offset / sizeof(float) + i] = static_cast<float>(prng.uniform(.2, 2));
    }
  }
  return *Model::load(model.file_with(values));
}

TEST(FoldNorms, TheFunctionStaysWithoutThem) {
  for (const bool bias : {true, false}) {
    const Model model = with_norms(bias);
    const Result<Model> folded = without_norms(model);
    ASSERT_OK(folded);
    for (const OpInfo& op : folded->graph().ops) EXPECT_NE(op.kind, OpKind::batch_norm);
    EXPECT_LT(folded->graph().tensors.size(), model.graph().tensors.size());
    Prng prng(2);
    std::vector<float> input(72), expected(4), seen(4);
    for (float& value : input) value = static_cast<float>(prng.uniform(-1, 1));
    const std::vector<std::span<const float>> inputs = {input};
    ASSERT_OK(Predictor::create(model, 1)->run(inputs, 1, expected));
    ASSERT_OK(Predictor::create(*folded, 1)->run(inputs, 1, seen));
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(seen[i], expected[i], 1e-4 * (1 + std::fabs(expected[i]))) << i;
  }
}

TEST(FoldNorms, ANormThatOthersSeeStays) {
  ModelBuilder build("seen", {4, 4, 2}, 3);
  const TensorId made = build.conv2d(build.input(), {.filters = 2, .kernel = 3, .pad = 1});
  const Model model = *Model::load(*build.finish(build.add(build.batch_norm(made), made)));
  const Result<Model> folded = without_norms(model);
  ASSERT_OK(folded);
  EXPECT_EQ(folded->graph().ops.size(), 3u);
}

// Random inputs with the classes that a model gives them.
class Asked final : public ExampleSource {
 public:
  Asked(const Model& teacher, uint64_t count, uint64_t seed) : width_(elements(teacher.input_shape())) {
    Prng prng(seed);
    inputs_.resize(count * width_);
    for (float& value : inputs_) value = static_cast<float>(prng.uniform(-1, 1));
    const size_t classes = elements(teacher.output_shape());
    std::vector<float> outputs(count * classes);
    const std::vector<std::span<const float>> inputs = {inputs_};
    Result<Predictor> predictor = Predictor::create(teacher, static_cast<uint32_t>(count));
    EXPECT_OK(predictor);
    EXPECT_OK(predictor->run(inputs, count, outputs));
    for (uint64_t i = 0; i < count; ++i) {
      const auto row = outputs.begin() + static_cast<ptrdiff_t>(classes * i);
      labels_.push_back(static_cast<int32_t>(std::max_element(row, row + static_cast<ptrdiff_t>(classes)) - row));
    }
  }
  uint64_t size() const override { return labels_.size(); }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::copy(std::span(inputs_).subspan(index * width_, width_), to.features().begin());
    to.labels()[0] = labels_[index];
    return {};
  }

 private:
  uint64_t width_;
  std::vector<float> inputs_;
  std::vector<int32_t> labels_;
};

const FullQuantiseSettings kSettings{.loss = {.kind = Loss::softmax_cross_entropy}, .calibration_examples = 60};

// The further output is what the norm reads, and would be nobody's without it.
TEST(FoldNorms, ANormThatAFurtherOutputSeesStaysButForIntegers) {
  ModelBuilder build("further", {4}, 3);
  const TensorId made = build.dense(build.input(), 5);
  const Model model = *Model::load(*build.finish(build.dense(build.batch_norm(made), 3), std::vector{made}));
  const Result<Model> folded = without_norms(model);
  ASSERT_OK(folded);
  EXPECT_EQ(folded->graph().ops.size(), 3u);
  Asked examples(model, 60, 4);
  EXPECT_OK(quantise_full(model, examples, examples, kSettings));
}

TEST(QuantiseFull, TheFileIsTheNetworkThatWasJudged) {
  const Model model = with_norms(true);
  Asked calibration(model, 100, 3), judges(model, 200, 4);
  const Result<FullQuantiseReport> report = quantise_full(model, calibration, judges, kSettings);
  ASSERT_OK(report);
  EXPECT_EQ(report->before.accuracy, 1);
  EXPECT_GE(report->after.accuracy, .95);
  ASSERT_EQ(report->layers.size(), 4u);  // the input and three layers
  EXPECT_EQ(report->layers[0].op, "input");
  EXPECT_FALSE(report->layers[0].weights);
  for (const Int8LayerReport& row : report->layers) EXPECT_GT(row.signal_to_noise_db, 20) << row.name;
  EXPECT_LT(report->file.size(), model.file().size());

  const Result<Int8Model> opened = open_int8_model(report->file);
  ASSERT_OK(opened);
  const Result<Model> passing = passing_model(opened->program.output_shape);
  ASSERT_OK(passing);
  Int8Outputs outputs(opened->program, judges);
  Result<Evaluator> evaluator = Evaluator::create(*passing, kSettings.loss, 64);
  ASSERT_OK(evaluator);
  const Result<Evaluation> again = evaluator->run(passing->parameters(), outputs);
  ASSERT_OK(again);
  EXPECT_EQ(again->loss_mean, report->after.loss_mean);
  EXPECT_EQ(again->accuracy, report->after.accuracy);
}

// A channel that is a thousand times another ruins the range that both share: equalising cures it.
TEST(QuantiseFull, ARescaledModelIsCured) {
  ModelBuilder build("scaled", {6, 6, 2}, 1);
  const TensorId x = build.relu(build.conv2d(build.input(), {.filters = 6, .kernel = 3}));
  const Model model = *Model::load(*build.finish(build.dense(build.flatten(x), 4)));
  std::vector<float> values(model.parameters().begin(), model.parameters().end());
  constexpr float kScales[] = {1, 64, .05f, 8, .5f, 300};
  for (const TensorInfo& tensor : model.graph().tensors) {
    for (uint64_t i = 0; has_payload(tensor.role) && i < elements(tensor.shape); ++i) {
      float& value = values[tensor.payload_offset / sizeof(float) + i];
      if (tensor.name.starts_with("conv1")) value *= kScales[i % 6];
      if (tensor.name == "dense1.weight") value /= kScales[i / 4 % 6];
    }
  }
  const Model scaled = *Model::load(model.file_with(values));
  Asked calibration(scaled, 100, 3), judges(scaled, 300, 4);
  const Result<FullQuantiseReport> report = quantise_full(scaled, calibration, judges, kSettings);
  ASSERT_OK(report);
  EXPECT_TRUE(report->is_equalised);
  EXPECT_GE(report->after.accuracy, .96);
}

// A filter whose weights are 0 has a bias still.
TEST(QuantiseFull, AFilterThatDiedKeepsItsBias) {
  ModelBuilder build("dead", {8}, 1);
  const TensorId w = build.parameter("w", {8, 2}, {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}),
                 b = build.parameter("b", {2}, {0, .75f});
  const Model model = *Model::load(*build.finish(build.op(OpKind::dense, {build.input(), w, b})));
  Asked examples(model, 50, 3);
  const Result<FullQuantiseReport> report = quantise_full(model, examples, examples, kSettings);
  ASSERT_OK(report);
  const Result<Int8Model> opened = open_int8_model(report->file);
  ASSERT_OK(opened);
  Int8Predictor predictor(opened->program);
  const std::vector<float> input(8);
  std::vector<float> answer(2);
  ASSERT_OK(predictor.run(input, 1, answer));
  EXPECT_NEAR(answer[1], .75f, opened->program.values[1].grid.scale);
}

// What an importer makes of Conv -> Relu -> Flatten -> Gemm: the flattened image has channels first.
Model flattened_channels_first() {
  ModelBuilder build("imported", {5, 4, 2}, 7);
  const TensorId image = build.relu(build.conv2d(build.input(), {.filters = 3, .kernel = 3, .pad = 1}));
  const TensorId turned = build.op(OpKind::transpose, {image}, TransposeAttributes{{0, 3, 1, 2}}, "turned");
  return *Model::load(*build.finish(build.dense(build.relu(build.dense(build.flatten(turned), 6)), 4)));
}

std::vector<float> answers(const Model& model, uint64_t seed) {
  Prng prng(seed);
  std::vector<float> input(elements(model.input_shape())), seen(elements(model.output_shape()));
  for (float& value : input) value = static_cast<float>(prng.uniform(-1, 1));
  const std::vector<std::span<const float>> inputs = {input};
  EXPECT_OK(Predictor::create(model, 1)->run(inputs, 1, seen));
  return seen;
}

TEST(FoldTransposes, TheFunctionStaysWithoutThem) {
  const Model model = flattened_channels_first();
  const Result<Model> folded = without_transposes(model);
  ASSERT_OK(folded);
  for (const OpInfo& op : folded->graph().ops) EXPECT_NE(op.kind, OpKind::transpose);
  for (const uint64_t seed : {1, 2, 3}) {
    const std::vector<float> expected = answers(model, seed), seen = answers(*folded, seed);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-5) << i;
  }
}

// Two in a row, as where one exporter's layout passes through another's; no transpose of the rows undoes itself.
TEST(FoldTransposes, TwoInARowAreBothTakenOver) {
  ModelBuilder build("twice", {3, 4, 5}, 2);
  const TensorId once = build.op(OpKind::transpose, {build.input()}, TransposeAttributes{{0, 3, 1, 2}}, "once");
  const TensorId twice = build.op(OpKind::transpose, {once}, TransposeAttributes{{0, 2, 1, 3}}, "twice");
  const Model model = *Model::load(*build.finish(build.dense(build.flatten(twice), 6)));
  const Result<Model> folded = without_transposes(model);
  ASSERT_OK(folded);
  for (const OpInfo& op : folded->graph().ops) EXPECT_NE(op.kind, OpKind::transpose) << op.name;
  const std::vector<float> expected = answers(model, 1), seen = answers(*folded, 1);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-5) << i;
}

TEST(FoldTransposes, WhatOthersReadStays) {
  const Model plain = with_norms(true);
  EXPECT_TRUE(std::ranges::equal(without_transposes(plain)->file(), plain.file())) << "nothing to fold";
  ModelBuilder build("seen", {2, 3}, 1);
  const TensorId turned = build.op(OpKind::transpose, {build.input()}, TransposeAttributes{{0, 2, 1}}, "turned");
  const TensorId flat = build.flatten(turned);
  const Model model = *Model::load(*build.finish(build.add(build.dense(flat, 6), flat)));
  EXPECT_TRUE(std::ranges::equal(without_transposes(model)->file(), model.file()));
}

TEST(QuantiseFull, AnImportedImageNetCan) {
  const Model model = flattened_channels_first();
  Asked calibration(model, 80, 3), judges(model, 200, 4);
  const Result<FullQuantiseReport> report = quantise_full(model, calibration, judges, kSettings);
  ASSERT_OK(report);
  EXPECT_EQ(report->before.accuracy, 1);
  EXPECT_GE(report->after.accuracy, .95);
}

// Labels that have nothing to do with the model: the float32 loss is no aim that less could improve on.
TEST(QuantiseFull, NoRemedyIsKeptForChance) {
  const Model model = with_norms(true);
  class Random final : public ExampleSource {
   public:
    explicit Random(ExampleSource& of) : of_(of) {}
    uint64_t size() const override { return of_.size(); }
    Status read(uint64_t index, const Example& to) override {
      COT_TRY(of_.read(index, to));
      to.labels()[0] = static_cast<int32_t>(Prng(index + 7).below(4));
      return {};
    }

   private:
    ExampleSource& of_;
  };
  size_t below = 0;
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    Asked asked(model, 40, seed);
    Random examples(asked);
    const Result<FullQuantiseReport> report = quantise_full(model, examples, examples, kSettings);
    ASSERT_OK(report);
    if (report->calibration_plain > report->calibration_exact) continue;
    below += 1;
    EXPECT_EQ(report->calibration_loss, report->calibration_plain) << "nothing is left to be cured";
    EXPECT_FALSE(report->is_equalised);
    for (const Int8LayerReport& row : report->layers)
      EXPECT_EQ(row.range.value_or(GridRule::min_max), GridRule::min_max);
  }
  EXPECT_GT(below, 0u);
}

// Random inputs with what a model makes of them: as float32 its loss is 0.
class Echoed final : public ExampleSource {
 public:
  Echoed(const Model& model, uint64_t count)
      : count_(count), predictor_(*Predictor::create(model, 1)), width_(elements(model.input_shape())) {}
  uint64_t size() const override { return count_; }
  Status read(uint64_t index, const Example& to) override {
    Prng prng(index + 1);
    std::vector<float> input(width_);
    for (float& value : input) value = static_cast<float>(prng.uniform(-1, 1));
    std::ranges::copy(input, to.features().begin());
    const std::vector<std::span<const float>> inputs = {input};
    return predictor_.run(inputs, 1, to.targets());
  }

 private:
  uint64_t count_;
  Predictor predictor_;
  uint64_t width_;
};

// By least squares an outlier is cut, and the other weights are so large on their grid that the sum leaves 32 bits.
TEST(QuantiseFull, ARemedyThatCannotBeBuiltIsNone) {
  constexpr int64_t kInputs = 160'000;
  ModelBuilder build("wide", {kInputs}, 1);
  std::vector<float> weights(2 * kInputs);
  Prng prng(3);
  for (float& weight : weights) weight = static_cast<float>(prng.uniform(.49, .51) * (prng.chance(.5) ? 1 : -1));
  weights[0] = weights[1] = .8f;
  const TensorId w = build.parameter("w", {kInputs, 2}, weights);
  const Model model = *Model::load(*build.finish(build.op(OpKind::dense, {build.input(), w}, {}, "y")));
  Echoed examples(model, 2);
  FullQuantiseSettings settings{.loss = {.kind = Loss::mean_squared_error, .target = TargetKind::values}};
  settings.target_elements = 2;
  const Result<FullQuantiseReport> report = quantise_full(model, examples, examples, settings);
  ASSERT_OK(report);
  EXPECT_GT(report->calibration_plain, report->calibration_exact) << "so that remedies are tried";
  EXPECT_EQ(report->layers[1].weights.value().rule, RangeRule::min_max);
}

// What both networks answer with on average, output by output.
std::vector<double> shifts(const Model& exact, const Int8Program& program, ExampleSource& examples) {
  Int8Predictor predictor(program);
  Result<Predictor> floats = Predictor::create(exact, 1);
  EXPECT_OK(floats);
  const size_t outputs = predictor.output_elements();
  std::vector<float> input(predictor.input_elements()), seen(outputs), expected(outputs), target(1);
  const Example::Place place(input);
  std::vector<double> shift(outputs);
  for (uint64_t e = 0; e < examples.size(); ++e) {
    EXPECT_OK(examples.read(e, Example({&place, 1}, target)));
    const std::vector<std::span<const float>> inputs = {input};
    EXPECT_OK(floats->run(inputs, 1, expected));
    EXPECT_OK(predictor.run(input, 1, seen));
    for (size_t o = 0; o < outputs; ++o) shift[o] += static_cast<double>(seen[o] - expected[o]);
  }
  for (double& each : shift) each /= static_cast<double>(examples.size());
  return shift;
}

// With weights of 3 bits the outputs of the last layer are off on average. Its corrected bias takes that back, whatever
// part of it comes from the layer before.
TEST(Int8Bias, TakesBackWhatRoundingAdds) {
  ModelBuilder build("two", {4, 4, 2}, 5);
  const TensorId x = build.relu(build.conv2d(build.input(), {.filters = 8, .kernel = 3, .pad = 1}));
  const Model model = *Model::load(*build.finish(build.dense(build.flatten(x), 4)));
  Asked examples(model, 100, 2);
  Result<Int8Choice> choice = Int8Choice::create(model, examples, 1, 3);
  ASSERT_OK(choice);
  const auto largest = [](const std::vector<double>& shift) {
    double most = 0;
    for (const double each : shift) most = std::max(most, std::fabs(each));
    return most;
  };
  const double before = largest(shifts(model, *choice->program(), examples));
  const auto bias = int8_corrected_bias(*choice, 1, model, examples, 1);
  ASSERT_OK(bias);
  ASSERT_TRUE(*bias);
  ASSERT_OK(choice->correct_bias(1, **bias));
  EXPECT_TRUE(choice->is_bias_corrected(1));
  const Result<Int8Program> program = choice->program();
  ASSERT_OK(program);
  const double after = largest(shifts(model, *program, examples));
  EXPECT_GT(before, .02);
  EXPECT_LT(after, before / 5);
}

TEST(QuantiseFull, ABiasIsCorrectedWhereThatPays) {
  const Model model = with_norms(true);
  Asked calibration(model, 100, 3), judges(model, 200, 4);
  FullQuantiseSettings settings = kSettings;
  settings.weight_bits = 3;
  const Result<FullQuantiseReport> report = quantise_full(model, calibration, judges, settings);
  ASSERT_OK(report);
  EXPECT_LT(report->calibration_loss, report->calibration_plain);
  size_t corrected = 0;
  for (const Int8LayerReport& row : report->layers)
    corrected += row.weights && row.weights->is_bias_corrected ? 1u : 0u;
  EXPECT_GT(corrected, 0u);
}

TEST(QuantiseFull, WidthsAreFoundForASize) {
  ModelBuilder build("wide", {48}, 3);
  const TensorId x = build.relu(build.dense(build.input(), 96));
  const Model model = *Model::load(*build.finish(build.dense(build.relu(build.dense(x, 48)), 4)));
  Asked calibration(model, 80, 3), judges(model, 100, 4);
  FullQuantiseSettings settings = kSettings;
  settings.target_ratio = 6;
  const Result<FullQuantiseReport> report = quantise_full(model, calibration, judges, settings);
  ASSERT_OK(report);
  EXPECT_LE(6 * report->file.size(), model.file().size());
  const Result<Int8Model> opened = open_int8_model(report->file);
  ASSERT_OK(opened);
  uint64_t bits = 0;
  for (const Int8Weights& weights : opened->weights) bits += weights.form.bits * weights.values.size();
  EXPECT_LT(bits, 5 * (48 * 96 + 96 * 48 + 48 * 4));
  const Result<Model> passing = passing_model(opened->program.output_shape);
  ASSERT_OK(passing);
  Int8Outputs outputs(opened->program, judges);
  Result<Evaluator> evaluator = Evaluator::create(*passing, settings.loss, 64);
  ASSERT_OK(evaluator);
  EXPECT_EQ(evaluator->run(passing->parameters(), outputs)->loss_mean, report->after.loss_mean);
}

TEST(QuantiseFull, WhatCannotBeDone) {
  ModelBuilder build("tanh", {4}, 1);
  const Model model = *Model::load(*build.finish(build.op(OpKind::tanh, {build.dense(build.input(), 4)})));
  Asked examples(model, 8, 1);
  EXPECT_ERROR(quantise_full(model, examples, examples, kSettings), ErrorCode::invalid_argument,
               "cannot compute in int8");
}

}  // namespace
}  // namespace coterie
