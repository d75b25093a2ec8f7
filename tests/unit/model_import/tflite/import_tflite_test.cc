// Whole networks: what becomes of int8, of 16x8, of names and of what is trained.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "model_import/tflite/import_tflite.h"
#include "model_import/tflite_reference/run_tflite.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"
#include "tests/unit/model_import/tflite/tflite_build.h"

namespace coterie {
namespace {

using namespace test;
using namespace model_import;

struct Chance {
  std::mt19937_64 bits{11};
  template <typename T>
  std::vector<T> integers(size_t count, int64_t low, int64_t high) {
    std::vector<T> values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<T>(low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1))));
    }
    return values;
  }
};

// conv relu, depthwise relu6, sum, mean, dense, softmax: with activations of this type, and biases of that.
TfliteModel net_of(TfliteType type, TfliteType bias_type) {
  Chance chance;
  TfliteBuild b;
  const int64_t shift = type == TfliteType::int8 ? 1 : 0;
  // Grids of 16 bits are finer, and leave room: floats do not stop where integers do.
  const float fine = type == TfliteType::int8 ? 1 : 1 / 32.f, fine_input = type == TfliteType::int8 ? 1 : 1 / 256.f;
  const auto grid = [&](float scale, int64_t zero) { return Grid{{scale * fine}, {zero * shift}}; };
  // On the grid of the input times the weights, as converters have it.
  const auto bias_of = [&](const std::string& name, int32_t count, float in, std::vector<float> scales) {
    for (float& scale : scales) scale *= in;
    const auto zeros = std::vector<int64_t>(scales.size());
    const auto size = static_cast<size_t>(count);
    if (bias_type == TfliteType::int64) {
      return b.constant(name, {count}, bias_type, chance.integers<int64_t>(size, -9'000, 9'000), {scales, zeros, 0});
    }
    return b.constant(name, {count}, bias_type, chance.integers<int32_t>(size, -300, 300), {scales, zeros, 0});
  };
  const int32_t x = b.value("x", {1, 6, 6, 3}, type, {{0.03f * fine_input}, {-5 * shift}});
  const int32_t w = b.constant("w1", {4, 3, 3, 3}, TfliteType::int8, chance.integers<int8_t>(108, -127, 127),
                               {{0.003f, 0.004f, 0.005f, 0.006f}, {0, 0, 0, 0}, 0});
  const int32_t c = b.value("c", {1, 6, 6, 4}, type, grid(0.05f, -128));
  b.op(TfliteOp::conv_2d, {x, w, bias_of("b1", 4, 0.03f * fine_input, {0.003f, 0.004f, 0.005f, 0.006f})}, {c},
       wire::Options::Conv2D, [](auto& f) { return wire::CreateConv2D(f, 0, 1, 1, 1); });
  const int32_t v = b.constant("w2", {1, 3, 3, 4}, TfliteType::int8, chance.integers<int8_t>(36, -127, 127),
                               {{0.004f, 0.003f, 0.002f, 0.005f}, {0, 0, 0, 0}, 3});
  const int32_t d = b.value("d", {1, 6, 6, 4}, type, grid(0.0235f, -128));
  b.op(TfliteOp::depthwise_conv_2d, {c, v, bias_of("b2", 4, 0.05f * fine, {0.004f, 0.003f, 0.002f, 0.005f})}, {d},
       wire::Options::DepthwiseConv2D, [](auto& f) { return wire::CreateDepthwiseConv2D(f, 0, 1, 1, 1, 3); });
  const int32_t s = b.value("s", {1, 6, 6, 4}, type, grid(0.06f, -100));
  b.op(TfliteOp::add, {c, d}, {s}, wire::Options::Add, [](auto& f) { return wire::CreateArithmetic(f); });
  const int32_t p = b.value("p", {1, 3, 3, 4}, type, grid(0.06f, -100));
  b.op(TfliteOp::max_pool_2d, {s}, {p}, wire::Options::Pool2D,
       [](auto& f) { return wire::CreatePool2D(f, 1, 2, 2, 2, 2); });
  const int32_t r = b.value("r", {1, 36}, type, grid(0.06f, -100)), to = b.integers("to", {1, 36});
  b.op(TfliteOp::reshape, {p, to}, {r});
  const int32_t u =
      b.constant("w3", {5, 36}, TfliteType::int8, chance.integers<int8_t>(180, -127, 127), {{0.005f}, {0}});
  const int32_t l = b.value("l", {1, 5}, type, grid(0.2f, 7));
  b.op(TfliteOp::fully_connected, {r, u, bias_of("b3", 5, 0.06f * fine, {0.005f})}, {l}, wire::Options::FullyConnected,
       [](auto& f) { return wire::CreateFullyConnected(f); });
  return b.model({x}, {l});
}

std::vector<double> reference_of(const TfliteModel& model, const std::vector<int64_t>& x) {
  const auto outputs = run_tflite(model, {{.shape = model.tensor(model.inputs[0]).shape, .reals = {}, .integers = x}});
  EXPECT_OK(outputs);
  return outputs ? real_numbers(model.tensor(model.outputs[0]), outputs->at(0)) : std::vector<double>();
}

std::vector<float> reals_of_input(const TfliteModel& model, const std::vector<int64_t>& x) {
  const std::vector<double> reals =
      real_numbers(model.tensor(model.inputs[0]), {.shape = {}, .reals = {}, .integers = x});
  return {reals.begin(), reals.end()};
}

TEST(TfliteImport, Int8ComputesInInt8WithinAStepOfTheFile) {
  const TfliteModel model = net_of(TfliteType::int8, TfliteType::int32);
  EXPECT_EQ(form_of(model), TfliteForm::int8);
  const Result<ImportedTflite> imported = import_tflite(model);
  ASSERT_OK(imported);
  ASSERT_EQ(imported->numbers, TfliteNumbers::qdq)
      << (imported->imported.notes.empty() ? "" : imported->imported.notes[0]);
  ASSERT_TRUE(computes_in_int8(imported->imported.model));
  const Result<Int8Model> int8 = open_int8_model(imported->imported.model);
  ASSERT_OK(int8);
  Int8Predictor predictor(int8->program);
  Chance chance;
  size_t numbers = 0, other = 0;
  double largest = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const std::vector<int64_t> x = chance.integers<int64_t>(108, -128, 127);
    const std::vector<double> should = reference_of(model, x);
    std::vector<float> is(5);
    ASSERT_OK(predictor.run(reals_of_input(model, x), 1, is));
    for (size_t i = 0; i < is.size(); ++i) {
      const double steps = std::fabs(static_cast<double>(is[i]) - should[i]) / 0.2;
      ++numbers;
      other += steps > 0.5;
      largest = std::max(largest, steps);
    }
  }
  // TensorFlow Lite rounds ties away from zero and each product twice; the house rounds once, to even.
  EXPECT_LE(largest, 1.01);
  EXPECT_LE(other * 5, numbers);
  std::printf("int8: %zu of %zu numbers on another step, the largest difference %.2f steps\n", other, numbers, largest);
}

TEST(TfliteImport, SixteenByEightBecomesFloatsAndSaysSo) {
  const TfliteModel model = net_of(TfliteType::int16, TfliteType::int64);
  EXPECT_EQ(form_of(model), TfliteForm::int16);
  const Result<ImportedTflite> imported = import_tflite(model);
  ASSERT_OK(imported);
  EXPECT_EQ(imported->numbers, TfliteNumbers::real);
  ASSERT_FALSE(imported->imported.notes.empty());
  EXPECT_NE(imported->imported.notes.back().find("activations of 16 bits"), std::string::npos);
  const Result<Model> loaded = Model::load(imported->imported.model);
  ASSERT_OK(loaded);
  Chance chance;
  const std::vector<int64_t> x = chance.integers<int64_t>(108, -32768, 32767);
  const std::vector<double> should = reference_of(model, x);
  const std::vector<float> is = predicted(*loaded, {{{1, 6, 6, 3}, reals_of_input(model, x)}}, 1);
  ASSERT_EQ(is.size(), should.size());
  for (size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(static_cast<double>(is[i]), should[i], 8 * 0.2 / 32) << i;
}

TEST(TfliteImport, Int8ThatHasNoPlaceBecomesFloatsWithTheReason) {
  TfliteBuild b;
  const int32_t x = b.value("x", {1, 3}, TfliteType::int8, {{0.5f}, {0}}),
                t = b.value("t", {1, 3}, TfliteType::int8, {{1 / 128.f}, {0}});
  b.op(TfliteOp::tanh, {x}, {t});
  const Result<ImportedTflite> imported = import_tflite(b.model({x}, {t}));
  ASSERT_OK(imported);
  EXPECT_EQ(imported->numbers, TfliteNumbers::real);
  ASSERT_EQ(imported->imported.notes.size(), 1u);
  EXPECT_NE(imported->imported.notes[0].find("int8 has no place for it: "), std::string::npos)
      << imported->imported.notes[0];
}

TEST(TfliteImport, FloatsAreTrainedUnderTheFilesNames) {
  TfliteBuild b;
  const int32_t x = b.value("image", {1, 6, 6, 1}), w = b.weights("net/conv/kernel", {4, 3, 3, 1}),
                wb = b.weights("net/conv/bias", {4});
  const int32_t c = b.value("net/conv/Relu;net/conv/BiasAdd", {1, 3, 3, 4}), r = b.value("flat", {1, 36});
  b.op(TfliteOp::conv_2d, {x, w, wb}, {c}, wire::Options::Conv2D,
       [](auto& f) { return wire::CreateConv2D(f, 0, 2, 2, 1); });
  b.op(TfliteOp::reshape, {c, b.integers("to", {-1, 36})}, {r});
  const int32_t d = b.weights("net/dense/kernel", {3, 36}), y = b.value("scores", {1, 3});
  b.op(TfliteOp::fully_connected, {r, d}, {y}, wire::Options::FullyConnected,
       [](auto& f) { return wire::CreateFullyConnected(f); });
  const Result<ImportedTflite> imported = import_tflite(b.model({x}, {y}));
  ASSERT_OK(imported);
  const Result<Model> model = Model::load(imported->imported.model);
  ASSERT_OK(model);
  std::vector<std::string> trained;
  for (const TensorInfo& tensor : model->graph().tensors) {
    if (tensor.role == TensorRole::parameter) trained.push_back(tensor.name);
  }
  std::ranges::sort(trained);
  EXPECT_EQ(trained.size(), 3u);
  for (const OpInfo& op : model->graph().ops) EXPECT_NE(op.kind, OpKind::transpose) << op.name;
  // One step moves them all.
  OneBatch batch({{{2, 6, 6, 1}, std::vector<float>(72, 0.5f)}}, std::vector<float>(2));
  Result<Trainer> trainer = Trainer::create(
      *model,
      {.loss = Loss::softmax_cross_entropy, .batch_size = 2, .local_epochs = 1, .optimizer = {.learning_rate = 1}},
      batch, 1);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  std::vector<float> delta(model->value_count());
  trainer->delta(delta);
  EXPECT_TRUE(std::ranges::any_of(delta, [](float value) { return value != 0; }));
}

}  // namespace
}  // namespace coterie
