#include <gtest/gtest.h>

#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

constexpr CastAttributes kToInt{static_cast<uint8_t>(DataType::int32)};
constexpr CastAttributes kToFloat{static_cast<uint8_t>(DataType::float32)};

TEST(LogicRule, ComparesAsNumbers) {
  const std::pair<OpKind, std::vector<float>> cases[] = {
      {OpKind::equal, {0, 1, 0}}, {OpKind::less, {1, 0, 0}}, {OpKind::greater, {0, 0, 1}}};
  for (const auto& [kind, expected] : cases) {
    ModelBuilder build("compare", {3}, 1);
    const std::vector<float> two = {2};
    const TensorId y = build.op(kind, {build.input(), build.constant("two", {}, std::span<const float>(two))});
    const Model model = computing(build, build.op(OpKind::cast, {y}, kToFloat));
    Batch batch(model, 1);
    batch.floats() = {1, 2, 3};
    EXPECT_EQ(outputs_of(model, batch), expected) << to_string(kind);
  }
}

TEST(LogicRule, WhereChoosesAndItsGradientFollowsTheChoice) {
  ModelBuilder build("where", {2, 3}, 1);
  const TensorId a = shifted(build, build.input());
  const TensorId b = build.parameter("b", {3}, {0.3f, -0.2f, 0.5f});
  const std::vector<int32_t> chosen = {1, 0};
  const TensorId condition = build.constant("condition", {2, 1}, std::span<const int32_t>(chosen));
  const Model model = scored(build, build.op(OpKind::where, {condition, a, build.op(OpKind::tanh, {b})}));
  Batch batch(model, 3);
  std::vector<float> delta(model.value_count());
  trained_once(model, batch, Loss::softmax_cross_entropy).delta(delta);
  // The shift is the first parameter; its second row is never chosen.
  for (size_t i = 0; i < 3; ++i) EXPECT_NE(delta[i], 0) << i;
  for (size_t i = 3; i < 6; ++i) EXPECT_EQ(delta[i], 0) << i;
  expect_gradient_is_numerical(model, batch);
}

TEST(LogicRule, CastsTowardZeroAndBack) {
  ModelBuilder build("cast", {4}, 1);
  const TensorId whole = build.op(OpKind::cast, {build.input()}, kToInt);
  const Model model = computing(build, build.op(OpKind::cast, {whole}, kToFloat));
  Batch batch(model, 1);
  batch.floats() = {1.75f, -1.75f, 3, NAN};
  EXPECT_EQ(outputs_of(model, batch), (std::vector<float>{1, -1, 3, 0}));
}

TEST(LogicRule, ACastToTheSameTypePassesTheGradient) {
  ModelBuilder build("cast", {4}, 1);
  const Model model = scored(build, build.op(OpKind::cast, {shifted(build, build.input())}, kToFloat));
  Batch batch(model, 3);
  expect_gradient_is_numerical(model, batch);
}

TEST(LogicRule, RefusesOtherTypes) {
  ModelBuilder where("where", {3}, 1);
  EXPECT_ERROR(where.finish(where.op(OpKind::where, {where.input(), where.input(), where.input()})),
               ErrorCode::malformed, "input 0 must be int32");
  ModelBuilder compare("compare", {3}, 1, DataType::int32);
  EXPECT_ERROR(compare.finish(compare.op(OpKind::less, {compare.input(), compare.input()})), ErrorCode::malformed,
               "input 0 must be float32");
  ModelBuilder cast("cast", {3}, 1);
  EXPECT_ERROR(cast.finish(cast.op(OpKind::cast, {cast.input()}, CastAttributes{3})), ErrorCode::malformed,
               "casts to type 3");
}

}  // namespace
}  // namespace coterie::test
