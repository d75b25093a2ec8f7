// Slopes of a model's output against differences of what it answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/graph_compiler.h"
#include "tests/support/central_difference.h"
#include "tests/unit/tools/explain/planted_models.h"
#include "tools/explain/asked_model.h"

namespace coterie::test {
namespace {

std::vector<float> random_input(size_t count, uint64_t seed) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.uniform(-1, 1));
  return values;
}

AskedModel asked(const Model& model) {
  Result<AskedModel> made = AskedModel::create(model);
  EXPECT_OK(made);
  return std::move(*made);
}

TEST(Gradients, AreWhatOutputsRiseBy) {
  AskedModel model = asked(mixed_net());
  const size_t size = model.input_size();
  constexpr size_t kExamples = 19;  // more than fit into a batch
  const std::vector<float> inputs = random_input(kExamples * size, 5);
  double largest = 0;
  for (uint32_t picked = 0; picked < model.outputs(); ++picked) {
    const Result<std::vector<float>> slopes = model.gradients(inputs, picked);
    ASSERT_OK(slopes);
    ASSERT_EQ(slopes->size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); i += 37) {
      const size_t first = i / size * size;
      std::vector<float> moved(inputs.begin() + static_cast<ptrdiff_t>(first),
                               inputs.begin() + static_cast<ptrdiff_t>(first + size));
      const double slope =
          central_difference(moved[i - first], 1e-2f, [&] { return model.scores(moved, picked).value()[0]; });
      largest = std::max(largest, std::fabs(slope));
      EXPECT_NEAR((*slopes)[i], slope, 2e-5 + 2e-2 * std::fabs(slope)) << picked << " " << i;
    }
  }
  EXPECT_GT(largest, 1e-3) << "nothing was seen";
}

TEST(Gradients, OfASumOfOutputsAreTheSumOfTheirs) {
  AskedModel model = asked(mixed_net());
  const std::vector<float> inputs = random_input(18 * model.input_size(), 7);  // more than fit into a batch
  std::vector<float> weights;
  for (int i = 0; i < 18; ++i) weights.insert(weights.end(), {2, 0, -1});
  const std::vector<float> first = model.gradients(inputs, 0).value(), last = model.gradients(inputs, 2).value();
  const std::vector<float> both = model.gradients(inputs, weights).value();
  ASSERT_EQ(both.size(), inputs.size());
  for (size_t i = 0; i < both.size(); i += 29) EXPECT_NEAR(both[i], 2 * first[i] - last[i], 1e-6) << i;
}

// In a sum each value's slope is its weight, to the bit; the answers are those of prediction.
TEST(Gradients, OfASumAreItsWeights) {
  AskedModel model = asked(planted_sum({8}, 2, 5));
  const std::vector<float> input = random_input(8, 1);
  EXPECT_EQ(model.gradients(input, 0).value(), (std::vector<float>{0, 0, kRise, 0, 0, kFall, 0, 0}));
  EXPECT_EQ(model.gradients(input, 1).value(), std::vector<float>(8));
  EXPECT_NEAR(model.scores(input, 0).value()[0], static_cast<double>(kRise * input[2] + kFall * input[5] + kOffset),
              1e-5);
}

TEST(Gradients, ByWhatAnOpWrites) {
  const Model model = planted_brightness();
  const auto conv = std::ranges::find(model.graph().ops, "conv", &OpInfo::name);
  ASSERT_NE(conv, model.graph().ops.end());
  Result<Gradients> made = Gradients::create(model, {conv->outputs[0], model.graph().inputs[0]}, 2);
  ASSERT_OK(made);
  std::vector<float> inputs(2 * 64, 0.5f);
  inputs[64] = -1;
  ASSERT_OK(made->run(inputs, 0));
  ASSERT_EQ(made->value(0).size(), 2u * 128);
  EXPECT_EQ(made->value(0)[128], -1);
  EXPECT_EQ(made->value(0)[129], 1);
  EXPECT_EQ(made->gradient(0)[0], 1.0f / 64);  // of the bright channel
  EXPECT_EQ(made->gradient(0)[1], 0);
  EXPECT_EQ(made->gradient(0)[128], 0) << "the ReLU is closed";
  EXPECT_EQ(made->gradient(1)[0], 1.0f / 64);
}

// An input that is left out, and a path without a slope: zeros, and no fault.
TEST(Gradients, AreZeroWhereNothingDepends) {
  ModelBuilder build("deaf", {4}, 1);
  const std::vector<float> zeros(4), ones(4, 1.0f);
  const TensorId low = build.constant("low", {4}, std::span<const float>(zeros));
  const TensorId high = build.constant("high", {4}, std::span<const float>(ones));
  const TensorId stairs = build.op(OpKind::where, {build.op(OpKind::greater, {build.input(), low}), high, low});
  const Model model = load_or_die(build.finish(build.dense(stairs, 2)));
  AskedModel made = asked(model);
  EXPECT_EQ(made.gradients(random_input(4, 1), 1).value(), std::vector<float>(4));
}

TEST(Gradients, RefuseWhatHasNone) {
  ModelBuilder two("two", {4}, 1);
  const TensorId other = two.input("other", {4});
  const Model sum = load_or_die(two.finish(two.dense(two.add(two.input(), other), 2)));
  EXPECT_EQ(AskedModel::create(sum).error().code(), ErrorCode::invalid_argument);
  ModelBuilder words("words", {4}, 1, DataType::int32);
  const Model text = load_or_die(words.finish(words.dense(words.flatten(words.embedding(words.input(), 5, 3)), 2)));
  EXPECT_EQ(AskedModel::create(text).error().code(), ErrorCode::invalid_argument);
  const Model plain = planted_sum({8}, 2, 5);
  const auto weight = std::ranges::find(plain.graph().tensors, "w", &TensorInfo::name);
  const auto tensor = static_cast<uint32_t>(weight - plain.graph().tensors.begin());
  EXPECT_EQ(Gradients::create(plain, {tensor}, 1).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(Gradients::create(plain, {12345}, 1).error().code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace coterie::test
