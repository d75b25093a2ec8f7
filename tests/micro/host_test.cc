// Generated programs on this machine, compiled with all warnings, against the reference kernels (bit for bit) and
// against the engine (within rounding).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/codec/codec.h"
#include "tests/micro/host_run.h"
#include "tests/micro/program_rig.h"
#include "tests/micro/reference_program.h"
#include "tests/support/matchers.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

// LeNet-5 takes no image of 8 x 8.
bool is_large(ModelKind kind) { return kind == ModelKind::lenet5; }
Model digit_model(ModelKind kind) {
  const int64_t side = is_large(kind) ? 28 : 8;
  return *Model::load(*make_model(kind, {side, side, 1}, 10, 7));
}

class BuiltIn : public testing::TestWithParam<ModelKind> {};

TEST_P(BuiltIn, PredictsTheReferencesBitsAndTheEnginesValues) {
  const Model model = digit_model(GetParam());
  const Result<MicroProgram> program = write_micro_program(model, {});
  ASSERT_OK(program);
  const RigCase facts = digit_case(20, is_large(GetParam()));
  const DriverWords reference = reference_words(model, facts);
  const std::vector<std::string> compilers = host_compilers();
  ASSERT_FALSE(compilers.empty()) << "a C compiler is needed: apt-get install gcc";
  for (const std::string& compiler : compilers) EXPECT_EQ(run_here(*program, facts, compiler), reference) << compiler;

  Result<Predictor> predictor = Predictor::create(model, 1);
  ASSERT_OK(predictor);
  for (size_t e = 0; e < facts.inputs.size(); ++e) {
    std::vector<float> output(10);
    const std::span<const float> input = facts.inputs[e];
    ASSERT_OK(predictor->run({&input, 1}, 1, output));
    float largest = 0;
    for (const float value : output) largest = std::max(largest, std::abs(value));
    for (size_t o = 0; o < output.size(); ++o) {
      EXPECT_NEAR(std::bit_cast<float>(reference.output[e * 10 + o]), output[o], 1e-5f * largest);
    }
  }
}

TEST_P(BuiltIn, TrainsToTheReferencesBits) {
  const Model model = digit_model(GetParam());
  const Result<MicroProgram> program = write_micro_program(model, {.trains = true});
  ASSERT_OK(program);
  RigCase facts = digit_case(24, is_large(GetParam()));
  facts.steps = 12;
  facts.batch = 5;  // no power of two, and no divisor of the examples
  const DriverWords reference = reference_words(model, facts);
  for (const std::string& compiler : host_compilers())
    EXPECT_EQ(run_here(*program, facts, compiler), reference) << compiler;
  // Nor does it matter what the compiler may use of this machine; and no behaviour is undefined.
  EXPECT_EQ(run_here(*program, facts, host_compilers()[0], "-O3 -march=native"), reference);
  EXPECT_EQ(
      run_here(*program, facts, host_compilers()[0], "-O1 -fsanitize=undefined,address -fno-sanitize-recover=all"),
      reference);
}

// The same examples in each step, so that the engine's shuffling changes the order of a sum alone.
class SameBatch final : public ExampleSource {
 public:
  explicit SameBatch(const RigCase& facts) : facts_(facts) {}
  uint64_t size() const override { return facts_.inputs.size(); }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::copy(facts_.inputs[index], to.features().begin());
    to.labels()[0] = facts_.labels[index];
    return {};
  }

 private:
  const RigCase& facts_;
};

TEST_P(BuiltIn, TrainsAsTheEngineDoes) {
  const Model model = digit_model(GetParam());
  const Result<MicroProgram> program = write_micro_program(model, {.trains = true});
  ASSERT_OK(program);
  RigCase facts = digit_case(16, is_large(GetParam()));
  facts.steps = 3;  // later a maximum of two equal values may go the other way
  facts.batch = 16;
  facts.learning_rate = 0.01f;
  const DriverWords words = run_here(*program, facts, host_compilers()[0]);

  SameBatch source(facts);
  Result<Trainer> trainer = Trainer::create(
      model, {.optimizer = {.learning_rate = facts.learning_rate}, .batch_size = 16, .epochs = 3}, source);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  double loss_sum = 0, first = 0, last = 0;
  for (size_t i = 0; i < words.loss.size(); ++i) {
    const double loss = std::bit_cast<float>(words.loss[i]);
    loss_sum += loss;
    if (i < facts.batch) first += loss;
    if (i + facts.batch >= words.loss.size()) last += loss;
  }
  EXPECT_NEAR(loss_sum, trainer->summary().loss_sum, 1e-4 * loss_sum);
  EXPECT_LT(last, first);

  const Result<Model> trained = Model::load(model.file_with(trainer->parameters()));
  ASSERT_OK(trained);
  Result<Predictor> predictor = Predictor::create(*trained, 1);
  ASSERT_OK(predictor);
  std::vector<float> output(10);
  const std::span<const float> input = facts.inputs[0];
  ASSERT_OK(predictor->run({&input, 1}, 1, output));
  ASSERT_EQ(words.trained.size(), output.size());
  for (size_t o = 0; o < output.size(); ++o) EXPECT_NEAR(std::bit_cast<float>(words.trained[o]), output[o], 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Micro, BuiltIn,
                         testing::Values(ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5, ModelKind::logistic),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

// Layers that no built-in model has: grouped and dilated convolution, windows that overlap and are cut, means, a relu
// behind a pool, layers without a bias.
TEST(OtherLayers, TrainToTheReferencesBits) {
  ModelBuilder build("other", {8, 8, 1}, 3);
  TensorId x = build.conv2d(build.input(), {.filters = 4, .kernel = 3, .stride = 1, .pad = 1, .bias = false});
  x = build.relu(build.max_pool2d(x, {.kernel = 3, .stride = 2, .pad = 1}));
  x = build.conv2d(x, {.filters = 6, .kernel = 2, .groups = 2});
  x = build.average_pool2d(x, {.kernel = 2, .stride = 1, .pad = 1});
  x = build.op(OpKind::conv2d, {x, build.uniform("dilated", {2, 2, 6, 5}, .5)},
               Conv2dAttributes{.pad_top = 1, .pad_left = 1, .dilation_h = 2, .dilation_w = 1});
  x = build.op(OpKind::global_average_pool2d, {build.relu(x)});
  const Result<Bytes> file = build.finish(build.dense(x, 10));
  ASSERT_OK(file);
  const Model model = *Model::load(*file);
  const Result<MicroProgram> program = write_micro_program(model, {.trains = true});
  ASSERT_OK(program);
  RigCase facts = digit_case(9);
  facts.steps = 6;
  const DriverWords reference = reference_words(model, facts);
  EXPECT_EQ(reference.trained.size(), 10u);
  for (const std::string& compiler : host_compilers())
    EXPECT_EQ(run_here(*program, facts, compiler), reference) << compiler;
}

Bytes with_frozen(const Bytes& file, const std::vector<std::string>& names) {
  Decoded<ModelGraph> model = *decode_model(file);
  for (TensorInfo& tensor : model.header.tensors) tensor.is_frozen = std::ranges::count(names, tensor.name) > 0;
  Bytes made = encode_head(model.header, model.payload.size());
  made.insert(made.end(), model.payload.begin(), model.payload.end());
  return made;
}

// Weights in flash, layers that backward does not reach, and a bias that is trained beside weights that are not.
TEST(OtherLayers, TrainAroundWhatIsFrozen) {
  ModelBuilder build("frozen", {8, 8, 1}, 3);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 4, .kernel = 3}));
  x = build.max_pool2d(x, {.kernel = 2, .stride = 2});
  x = build.relu(build.conv2d(x, {.filters = 5, .kernel = 2}));
  const Bytes file = *build.finish(build.dense(build.flatten(x), 10));
  const Model model = *Model::load(with_frozen(file, {"conv1.weight", "conv1.bias", "conv2.weight"}));
  const Result<MicroProgram> program = write_micro_program(model, {.trains = true});
  ASSERT_OK(program);
  RigCase facts = digit_case(6);
  facts.steps = 4;
  EXPECT_EQ(run_here(*program, facts, host_compilers()[0]), reference_words(model, facts));
}

// The distance from the true value in units of the last place of a float.
double units(float seen, double wanted) {
  return std::abs(seen - wanted) / (std::ldexp(1.0, std::ilogb(wanted)) * std::ldexp(1.0, -23));
}

TEST(Series, KeepTheBoundsThatTheTextStates) {
  double worst_exp = 0, worst_log = 0, worst_below_2 = 0;
  for (uint32_t bits = 0; bits < std::bit_cast<uint32_t>(87.0f); bits += 997) {
    const float x = -std::bit_cast<float>(bits);
    worst_exp = std::max(worst_exp, units(micro_exp(x), std::exp(static_cast<double>(x))));
  }
  for (uint32_t bits = std::bit_cast<uint32_t>(1.0f); bits < std::bit_cast<uint32_t>(3e38f); bits += 997) {
    const float x = std::bit_cast<float>(bits);
    const double wanted = std::log(static_cast<double>(x));
    if (x < 2) worst_below_2 = std::max(worst_below_2, std::abs(micro_log(x) - wanted));
    else worst_log = std::max(worst_log, units(micro_log(x), wanted));
  }
  EXPECT_LE(worst_exp, 2);
  EXPECT_LE(worst_log, 2);
  EXPECT_LE(worst_below_2, 1e-7);
  EXPECT_GT(worst_exp, .5);  // it is no libm that was measured
  EXPECT_EQ(micro_exp(-88), 0);
  EXPECT_EQ(micro_exp(-INFINITY), 0);
  EXPECT_TRUE(std::isnan(micro_exp(NAN)));
  std::printf("exp: %.3f units, log: %.3f units, below 2: %.2e\n", worst_exp, worst_log, worst_below_2);
}

}  // namespace
}  // namespace coterie::test
