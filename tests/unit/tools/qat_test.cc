// A training that counts on int8 against what int8 then is: the engine's answers, and what quantising loses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "device_sdk/runtime/fake_quantise.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/matchers.h"
#include "tools/model/fold_norms.h"
#include "tools/model/quantise_full.h"

namespace coterie {
namespace {

constexpr size_t kClasses = 4;

Model net(bool has_norms, uint64_t seed) {
  ModelBuilder build("net", {6, 6, 2}, seed);
  TensorId x = build.conv2d(build.input(), {.filters = 6, .kernel = 3, .bias = !has_norms});
  if (has_norms) x = build.batch_norm(x);
  x = build.max_pool2d(build.relu(x), {.kernel = 2, .stride = 2});
  x = build.relu(build.dense(build.flatten(x), 12));
  return *Model::load(*build.finish(build.dense(x, kClasses)));
}

// Random images, and as classes those that a net of its own gives them.
class Asked final : public ExampleSource {
 public:
  Asked(uint64_t count, uint64_t seed) : inputs_(count * 72), outputs_(count * kClasses) {
    Prng prng(seed);
    for (float& value : inputs_) value = static_cast<float>(prng.uniform(-1, 1));
    const std::vector<std::span<const float>> inputs = {inputs_};
    EXPECT_OK(Predictor::create(net(false, 99), static_cast<uint32_t>(count))->run(inputs, count, outputs_));
  }
  uint64_t size() const override { return outputs_.size() / kClasses; }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::copy(std::span(inputs_).subspan(index * 72, 72), to.features().begin());
    const auto row = std::span(outputs_).subspan(index * kClasses, kClasses);
    to.labels()[0] = static_cast<int32_t>(std::ranges::max_element(row) - row.begin());
    return {};
  }
  std::span<const float> inputs() const { return inputs_; }

 private:
  std::vector<float> inputs_, outputs_;
};

Model trained(const Model& model, TrainOptions options, ExampleSource& examples) {
  options.batch_size = 32;
  options.optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.01f};
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  EXPECT_OK(trainer);
  while (!trainer->finished()) EXPECT_OK(trainer->step());
  return *Model::load(model.file_with(trainer->parameters()));
}

// The forward pass of a training whose norms keep their statistics, on the integers that its own ranges say.
TEST(QatForward, IsWhatTheInt8EngineAnswers) {
  constexpr uint64_t kCount = 40;
  Asked examples(kCount, 5);
  for (const uint32_t bits : {8u, 4u}) {
    TrainOptions options;
    options.epochs = 2;
    const Model model = trained(net(true, 3), options, examples);
    CompileSettings settings{.purpose = Purpose::train, .batch_size = kCount, .freeze_statistics = true};
    settings.optimizer.learning_rate = 0;
    settings.takes_output_gradient = true;
    settings.qat = QuantisedTraining{.parts = QuantisedParts::full, .weight_bits = bits};
    settings.arena_bytes_max = 1 << 24;
    Result<CompiledModel> compiled = compile(model, settings);
    ASSERT_OK(compiled);
    const Result<Arena> arena = Arena::create(compiled->layout, 1 << 24);
    ASSERT_OK(arena);
    Program& program = compiled->program;
    program.bind(*arena);
    std::ranges::copy(model.parameters(), arena->region(Region::parameters).begin());
    std::ranges::copy(examples.inputs(), program.pointer(compiled->inputs[0]));
    const StepContext context{.kernels = kernels::kernels()};
    program.run(Phase::prepare, context);
    program.run(Phase::forward, context);
    const float* const output = program.pointer(compiled->output);
    const std::vector<float> expected(output, output + kCount * kClasses);
    std::fill_n(program.pointer(compiled->output_gradient), expected.size(), 0.0f);
    program.run(Phase::backward, context);  // keeps the ranges

    const Result<Model> folded = without_norms(model);
    ASSERT_OK(folded);
    const Result<RoundedTensors> rounded = rounded_tensors(model, QuantisedParts::full);
    ASSERT_OK(rounded);
    const auto in_folded = [&](uint32_t tensor) {
      const auto& tensors = folded->graph().tensors;
      const auto found = std::ranges::find(tensors, model.graph().tensors[tensor].name, &TensorInfo::name);
      return static_cast<uint32_t>(found - tensors.begin());
    };
    std::vector<TensorGrid> grids;
    for (size_t i = 0; i < rounded->activations.size(); ++i) {
      const auto range = arena->region(Region::ranges).subspan(i * kRangeFloats, kRangeFloats);
      EXPECT_EQ(range[2], 1);
      grids.push_back(
          grid_over(static_cast<double>(range[0]), static_cast<double>(range[1]), in_folded(rounded->activations[i])));
    }
    std::vector<Int8Weights> weights;
    for (const auto [tensor, axis] : rounded->weights) {
      const TensorInfo& info = folded->graph().tensors[in_folded(tensor)];
      const auto values = folded->parameters().subspan(info.payload_offset / sizeof(float), elements(info.shape));
      weights.push_back(to_int8(values, info.shape, in_folded(tensor), axis, RangeRule::min_max, bits));
    }
    const Result<Int8Program> int8 = make_int8_program(*folded, weights, grids);
    ASSERT_OK(int8);
    std::vector<float> seen(expected.size());
    ASSERT_OK(Int8Predictor(*int8).run(examples.inputs(), kCount, seen));
    // The engine adds integers and biases on their grid, the training floats: a sum that lies at a tie may fall to the
    // other side, and move an answer by a step or two.
    const double step = static_cast<double>(int8->values[int8->output].grid.scale);
    size_t equal = 0;
    for (size_t i = 0; i < seen.size(); ++i) {
      const double apart = std::fabs(static_cast<double>(seen[i]) - static_cast<double>(expected[i]));
      EXPECT_LE(apart, 2.001 * step) << i;
      equal += apart < .001 * step ? 1 : 0;
    }
    EXPECT_GE(equal * 100, seen.size() * 80) << equal << " of " << seen.size();
  }
}

// As many more epochs with float32 and on the grid, from the same model: few bits are worth more to who knows of them.
TEST(QatTraining, LosesLessWhenItIsQuantised) {
  Asked examples(800, 7), judges(500, 8);
  TrainOptions options;
  options.epochs = 12;
  const Model start = trained(net(true, 3), options, examples);
  options.epochs = 6;
  const Model plain = trained(start, options, examples);
  options.qat = QuantisedTraining{.parts = QuantisedParts::full, .weight_bits = 2};
  const Model aware = trained(start, options, examples);
  const FullQuantiseSettings settings{
      .loss = {.kind = Loss::softmax_cross_entropy}, .calibration_examples = 200, .weight_bits = 2};
  const Result<FullQuantiseReport> of_plain = quantise_full(plain, examples, judges, settings),
                                   of_aware = quantise_full(aware, examples, judges, settings);
  ASSERT_OK(of_plain);
  ASSERT_OK(of_aware);
  EXPECT_LT(of_aware->after.loss_mean, .97 * of_plain->after.loss_mean)
      << "float32: " << of_plain->before.loss_mean << " and " << of_aware->before.loss_mean;
}

}  // namespace
}  // namespace coterie
