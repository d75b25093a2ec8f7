#include "device_sdk/runtime/predictor.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using Input = std::span<const float>;

std::vector<float> predict(Predictor& predictor, std::span<const float> features, uint64_t count, size_t outputs) {
  std::vector<float> output(count * outputs, -1);
  const Input input = features;
  EXPECT_OK(predictor.run({&input, 1}, count, output));
  return output;
}

TEST(Predictor, SaysTheSameForEachBatchSize) {
  const Model model = small_cnn();
  const Examples examples(23, 64, 10);
  Result<Predictor> one = Predictor::create(model, 1);
  ASSERT_OK(one);
  const std::vector<float> expected = predict(*one, examples.values(), 23, 10);
  for (const uint32_t batch : {2u, 8u, 23u, 50u}) {
    Result<Predictor> predictor = Predictor::create(model, batch);
    ASSERT_OK(predictor);
    const std::vector<float> seen = predict(*predictor, examples.values(), 23, 10);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-5) << batch;
  }
}

// A dense layer written by hand.
TEST(Predictor, UsesTheModelsParameters) {
  ModelBuilder build("by hand", {2}, 1);
  const TensorId w = build.parameter("w", {2, 3}, {1, 2, 3, 10, 20, 30});
  const TensorId b = build.parameter("b", {3}, {0.5f, 0, -0.5f});
  const Model model = load_or_die(build.finish(build.op(OpKind::dense, {build.input(), w, b})));
  Result<Predictor> predictor = Predictor::create(model, 4);
  ASSERT_OK(predictor);
  const std::vector<float> features = {1, 0, 0, 1, 2, -1};
  const std::vector<float> expected = {1.5f, 2, 2.5f, 10.5f, 20, 29.5f, -7.5f, -16, -24.5f};
  EXPECT_EQ(predict(*predictor, features, 3, 3), expected);
  EXPECT_EQ(predict(*predictor, {}, 0, 3), std::vector<float>());
}

TEST(Predictor, TakesSeveralInputsAndIntegers) {
  ModelBuilder build("tokens", {2}, 1, DataType::int32);
  const TensorId features = build.input("features", {3});
  const TensorId table = build.parameter("table", {4, 1}, {0, 10, 20, 30});
  const TensorId rows = build.reshape(build.op(OpKind::embedding, {table, build.input()}), {2});
  const TensorId w = build.parameter("w", {3, 2}, {1, 0, 0, 1, 0, 0});
  const TensorId b = build.parameter("b", {2}, {0, 0});
  const Model model = load_or_die(build.finish(build.add(rows, build.op(OpKind::dense, {features, w, b}))));
  Result<Predictor> predictor = Predictor::create(model, 3);
  ASSERT_OK(predictor);
  const std::vector<int32_t> tokens = {3, 1};
  const std::vector<float> values = {1, 2, 7};
  const Input inputs[] = {{reinterpret_cast<const float*>(tokens.data()), 2}, values};
  std::vector<float> output(2);
  ASSERT_OK(predictor->run(inputs, 1, output));
  EXPECT_EQ(output, (std::vector<float>{31, 12}));

  // An index outside the table is an error, and none of the runs after it.
  const std::vector<int32_t> outside = {3, 4};
  const Input bad[] = {{reinterpret_cast<const float*>(outside.data()), 2}, values};
  EXPECT_ERROR(predictor->run(bad, 1, output), ErrorCode::invalid_argument, "index");
  ASSERT_OK(predictor->run(inputs, 1, output));
  EXPECT_EQ(output, (std::vector<float>{31, 12}));
}

TEST(Predictor, RefusesOtherSizes) {
  const Model model = small_cnn();
  Result<Predictor> predictor = Predictor::create(model, 4);
  ASSERT_OK(predictor);
  const std::vector<float> features(128);
  std::vector<float> output(20);
  const Input inputs[] = {features, features};
  EXPECT_OK(predictor->run({inputs, 1}, 2, output));
  EXPECT_ERROR(predictor->run(inputs, 2, output), ErrorCode::invalid_argument, "2 inputs, the model has 1");
  EXPECT_ERROR(predictor->run({}, 2, output), ErrorCode::invalid_argument, "0 inputs");
  EXPECT_ERROR(predictor->run({inputs, 1}, 1, output), ErrorCode::invalid_argument,
               "input 0 has 128 values, not 1 examples of 64");
  EXPECT_ERROR(predictor->run({inputs, 1}, ~0ull, output), ErrorCode::invalid_argument, "input 0 has 128 values");
  EXPECT_ERROR(predictor->run({inputs, 1}, 2, std::span(output).first(19)), ErrorCode::invalid_argument,
               "the output has 19 values");
  EXPECT_ERROR(Predictor::create(model, 0), ErrorCode::invalid_argument, "batch_size");
  EXPECT_ERROR(Predictor::create(model, 4, 1000), ErrorCode::too_large, "");
}

}  // namespace
}  // namespace coterie::test
