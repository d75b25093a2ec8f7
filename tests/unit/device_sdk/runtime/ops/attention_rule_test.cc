// attention.
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/runtime/gradient_of.h"
#include "tests/unit/device_sdk/runtime/learning.h"
#include "tests/unit/device_sdk/runtime/torch_vectors.h"

namespace coterie::test {
namespace {

TEST(AttentionRule, DifferentiatesByQueryKeyAndValue) {
  for (const bool is_causal : {false, true}) {
    for (const float scale : {0.0f, 1.5f}) {
      ModelBuilder build("attention", {3, 4}, 1);
      const TensorId other = build.input("other", {5, 4});
      const TensorId q = build.dense(build.input(), 4), k = build.dense(other, 4, false), v = build.dense(other, 4);
      const Model model =
          scored(build, build.op(OpKind::attention, {q, k, v}, AttentionAttributes{2, is_causal, scale}));
      Batch batch(model, 2);
      expect_gradient_is_numerical(model, batch);
    }
  }
}

// One tensor in all three places: its gradients are summed.
TEST(AttentionRule, DifferentiatesOneTensorInEveryPlace) {
  ModelBuilder build("attention", {3, 4}, 1);
  const TensorId x = shifted(build, build.input());
  const Model model = scored(build, build.op(OpKind::attention, {x, x, x}, AttentionAttributes{.heads = 2}));
  Batch batch(model, 2);
  expect_gradient_is_numerical(model, batch);
}

TEST(AttentionRule, DifferentiatesByOneOperandAlone) {
  for (size_t trained = 0; trained < 3; ++trained) {
    ModelBuilder build("attention", {3, 4}, 1);
    std::vector<TensorId> inputs(3, build.input());
    inputs[trained] = shifted(build, build.input());
    const Model model = scored(build, build.op(OpKind::attention, inputs, AttentionAttributes{.heads = 4}));
    Batch batch(model, 2);
    expect_gradient_is_numerical(model, batch);
  }
}

// Masks of 2 heads, 3 queries, 4 keys, as they may be broadcast.
const Shape kMasks[] = {{},        {4},       {3, 1},       {3, 4},       {1, 1, 4},   {2, 1, 1},
                        {2, 3, 4}, {2, 1, 4}, {1, 2, 3, 1}, {1, 1, 3, 4}, {1, 2, 3, 4}};

Model masked(const Shape& mask, bool is_trained, bool is_scored) {
  ModelBuilder build("attention", {3, 4}, 1);
  const TensorId other = build.input("other", {4, 4});
  const std::vector<float> values = random_values(elements(mask), 8, -2, 2);
  const TensorId m =
      is_trained ? build.parameter("mask", mask, values) : build.constant("mask", mask, std::span(values));
  const TensorId y = build.op(OpKind::attention, {build.input(), other, other, m}, AttentionAttributes{.heads = 2});
  return is_scored ? scored(build, y) : computing(build, y);
}

TEST(AttentionRule, DifferentiatesByItsMask) {
  for (const Shape& mask : kMasks) {
    // The same number everywhere, or everywhere in a row, changes no softmax.
    if (mask.empty() || mask.back() == 1) continue;
    SCOPED_TRACE(to_text(mask));
    const Model model = masked(mask, true, true);
    Batch batch(model, 2);
    expect_gradient_is_numerical(model, batch);
  }
}

// The definition, one number at a time. mask(b, h, i, j) is added to the scores.
template <typename Mask>
std::vector<double> attended(const Shape& q, size_t keys, size_t heads, const std::vector<float>& query,
                             const std::vector<float>& key, const Mask& mask) {
  const auto batch = static_cast<size_t>(q[0]), queries = static_cast<size_t>(q[1]), row = static_cast<size_t>(q[2]);
  const size_t width = row / heads;
  std::vector<double> y(batch * queries * row);
  for (size_t b = 0; b < batch; ++b) {
    for (size_t h = 0; h < heads; ++h) {
      for (size_t i = 0; i < queries; ++i) {
        const size_t at = (b * queries + i) * row + h * width;
        std::vector<double> shares(keys);
        double sum = 0;
        for (size_t j = 0; j < keys; ++j) {
          double score = 0;
          for (size_t c = 0; c < width; ++c) score += query[at + c] * key[(b * keys + j) * row + h * width + c];
          sum += shares[j] = std::exp(score / std::sqrt(static_cast<double>(width)) + mask(b, h, i, j));
        }
        for (size_t j = 0; j < keys; ++j) {
          for (size_t c = 0; c < width; ++c) y[at + c] += shares[j] / sum * key[(b * keys + j) * row + h * width + c];
        }
      }
    }
  }
  return y;
}

TEST(AttentionRule, BroadcastsItsMask) {
  for (const Shape& mask : kMasks) {
    SCOPED_TRACE(to_text(mask));
    const Model model = masked(mask, false, false);
    Batch batch(model, 2);
    const std::vector<float> values = random_values(elements(mask), 8, -2, 2);
    Shape sizes(4 - mask.size(), 1);
    sizes.insert(sizes.end(), mask.begin(), mask.end());
    const auto at = [&](size_t, size_t h, size_t i, size_t j) {
      size_t offset = 0;
      const size_t places[] = {h, i, j};
      for (size_t axis = 1; axis < 4; ++axis) {
        offset = offset * static_cast<size_t>(sizes[axis]) + (sizes[axis] == 1 ? 0 : places[axis - 1]);
      }
      return values[offset];
    };
    expect_near(outputs_of(model, batch), attended({2, 3, 4}, 4, 2, batch.floats(0), batch.floats(1), at), 1e-5, "y");
  }
}

// Each example its own mask, from an input: minus infinity hides a key.
TEST(AttentionRule, HidesKeysOfAnExample) {
  ModelBuilder build("attention", {3, 4}, 1);
  const TensorId hidden = build.input("hidden", {1, 1, 3});
  const TensorId y = build.op(OpKind::attention, {build.input(), build.input(), build.input(), hidden});
  const Model model = computing(build, y);
  Batch batch(model, 2);
  batch.floats(1) = {0, 0, -INFINITY, -INFINITY, 0, 0};
  const auto at = [&](size_t b, size_t, size_t, size_t j) { return batch.floats(1)[b * 3 + j]; };
  expect_near(outputs_of(model, batch), attended({2, 3, 4}, 3, 1, batch.floats(0), batch.floats(0), at), 1e-5, "y");
}

// A query that sees nothing gets zeros.
TEST(AttentionRule, BlindsAQuery) {
  const float values[] = {0, -INFINITY, 0};
  ModelBuilder plain("attention", {3, 4}, 1), blinded("attention", {3, 4}, 1);
  const TensorId mask = blinded.constant("mask", {3, 1}, std::span(values));
  const TensorId y = blinded.op(OpKind::attention, {0, 0, 0, mask});
  const Model seeing = computing(plain, plain.op(OpKind::attention, {0, 0, 0})), model = computing(blinded, y);
  Batch batch(model, 1);
  std::vector<float> expected = outputs_of(seeing, batch);
  for (size_t i = 4; i < 8; ++i) {
    EXPECT_NE(expected[i], 0);
    expected[i] = 0;
  }
  EXPECT_EQ(outputs_of(model, batch), expected);
}

TEST(AttentionRule, ComputesWhatPyTorchDoes) {
  for (const TorchCase& c : torch_cases("attention", "kernel_vectors.txt")) {
    const auto d = c.list("shape");
    const auto queries = static_cast<int64_t>(d[2]), keys = static_cast<int64_t>(d[3]),
               row = static_cast<int64_t>(d[1] * d[4]);
    ModelBuilder build("attention", {queries, row}, 1);
    const TensorId k = build.input("k", {keys, row}), v = build.input("v", {keys, row});
    const AttentionAttributes attributes{static_cast<uint32_t>(d[1]), c.number("causal") != 0};
    const Model model = computing(build, build.op(OpKind::attention, {build.input(), k, v}, attributes));
    Batch batch(model, d[0]);
    Draw draw(c.seed());
    for (size_t i = 0; i < 3; ++i) {
      batch.floats(i) = draw.floats(batch.floats(i).size());
      for (float& value : batch.floats(i)) value *= 2;
    }
    expect_near(outputs_of(model, batch), c.answer("y"), 4e-6, "y");
  }
}

TEST(AttentionRule, RefusesOperandsThatDoNotFit) {
  const auto expect_refused = [](Shape k, Shape v, const AttentionAttributes& attributes, const char* message) {
    ModelBuilder build("attention", {3, 4}, 1);
    const TensorId key = build.input("k", std::move(k)), value = build.input("v", std::move(v));
    EXPECT_ERROR(build.finish(build.op(OpKind::attention, {build.input(), key, value}, attributes)),
                 ErrorCode::malformed, message);
  };
  expect_refused({5, 4}, {6, 4}, {}, "does not fit keys");
  expect_refused({5, 2}, {5, 2}, {}, "does not fit keys");
  expect_refused({5}, {5, 4}, {}, "key must have 3 dimensions");
  expect_refused({5, 4}, {5, 4}, {.heads = 0}, "0 heads do not divide 4 features");
  expect_refused({5, 4}, {5, 4}, {.heads = 3}, "3 heads do not divide 4 features");
  expect_refused({5, 4}, {5, 4}, {.scale = NAN}, "scale is not finite");
}

TEST(AttentionRule, RefusesMasksThatDoNotBroadcast) {
  for (const Shape& mask : {Shape{2}, Shape{4, 4}, Shape{3, 3, 4}, Shape{3, 1, 1, 4}, Shape{1, 1, 1, 1, 4}}) {
    ModelBuilder build("attention", {3, 4}, 1);
    const TensorId k = build.input("k", {4, 4});
    const TensorId m = build.parameter("mask", mask, std::vector<float>(elements(mask)));
    const auto made = build.finish(build.op(OpKind::attention, {build.input(), k, k, m}, AttentionAttributes{2}));
    EXPECT_ERROR(made, ErrorCode::malformed, "mask");
  }
}

// Written out it would be 2^30 elements; the operands are small.
TEST(AttentionRule, RefusesMasksThatGrow) {
  constexpr int64_t kLong = 1 << 15;
  ModelBuilder build("attention", {kLong, 1}, 1);
  const TensorId mask = build.parameter("mask", {1}, {0});
  EXPECT_ERROR(build.finish(build.op(OpKind::attention, {build.input(), build.input(), build.input(), mask})),
               ErrorCode::too_large, "2^28");
}

TensorId encoder_layer(ModelBuilder& build, TensorId x, uint32_t features) {
  TensorId h = build.layer_norm(x);
  const std::vector<TensorId> projected = {build.dense(h, features), build.dense(h, features),
                                           build.dense(h, features)};
  h = build.op(OpKind::attention, projected, AttentionAttributes{.heads = 2});
  x = build.add(x, build.dense(h, features));
  h = build.op(OpKind::gelu, {build.dense(build.layer_norm(x), 2 * features)});
  return build.add(x, build.dense(h, features));
}

// Pre-norm, as in Xiong et al., "On Layer Normalization in the Transformer Architecture", 2020.
TEST(AttentionRule, AnEncoderLearns) {
  constexpr uint32_t kFeatures = 8;
  ModelBuilder build("encoder", {6}, 1, DataType::int32);
  TensorId x = build.embedding(build.input(), 5, kFeatures);
  for (int layer = 0; layer < 2; ++layer) x = encoder_layer(build, x, kFeatures);
  x = build.op(OpKind::reduce_mean, {build.layer_norm(x)}, ReduceAttributes{{1}, false});
  const Model model = load_or_die(build.finish(build.dense(x, 3)));
  Batch batch(model, 8, 3, 0, 1, 5);
  expect_learns(model, batch);
}

}  // namespace
}  // namespace coterie::test
