#include <gtest/gtest.h>

#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

struct Case {
  OpKind kind;
  float at;  // the function there
  float value;
  float alpha = 0, beta = 0;
  double low = -2, high = 2;  // of the gradient test
};

// Values to 6 digits from the functions' definitions.
const Case kCases[] = {
    {.kind = OpKind::relu, .at = 1.5f, .value = 1.5f},
    {.kind = OpKind::relu6, .at = 7, .value = 6},
    {.kind = OpKind::leaky_relu, .at = -2, .value = -0.5f, .alpha = 0.25f},
    {.kind = OpKind::elu, .at = -1, .value = -0.316060f, .alpha = 0.5f},
    {.kind = OpKind::selu, .at = -1, .value = -1.111331f},
    {.kind = OpKind::selu, .at = 2, .value = 2.101402f},
    {.kind = OpKind::gelu, .at = 1, .value = 0.841345f},
    {.kind = OpKind::gelu_tanh, .at = 1, .value = 0.841192f},
    {.kind = OpKind::sigmoid, .at = 1, .value = 0.731059f},
    {.kind = OpKind::hard_sigmoid, .at = 1, .value = 0.7f, .alpha = 0.2f, .beta = 0.5f},
    {.kind = OpKind::hard_swish, .at = 1, .value = 0.666667f},
    {.kind = OpKind::swish, .at = 1, .value = 0.731059f},
    {.kind = OpKind::tanh, .at = 1, .value = 0.761594f},
    {.kind = OpKind::softplus, .at = 1, .value = 1.313262f},
    {.kind = OpKind::clip, .at = 3, .value = 0.7f, .alpha = -0.6f, .beta = 0.7f},
    {.kind = OpKind::sqrt, .at = 2, .value = 1.414214f, .low = 0.5},
    {.kind = OpKind::exp, .at = 1, .value = 2.718282f},
    {.kind = OpKind::log, .at = 2, .value = 0.693147f, .low = 0.5},
    {.kind = OpKind::abs, .at = -2, .value = 2},
    {.kind = OpKind::neg, .at = 2, .value = -2},
    {.kind = OpKind::reciprocal, .at = 4, .value = 0.25f, .low = 0.5},
    {.kind = OpKind::erf, .at = 0.5f, .value = 0.520500f},
};

OpAttributes attributes_of(const Case& c) {
  OpAttributes attributes = default_attributes(c.kind);
  if (auto* unary = std::get_if<UnaryAttributes>(&attributes)) *unary = {c.alpha, c.beta};
  return attributes;
}

TEST(UnaryRule, ComputesEachFunction) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(to_string(c.kind));
    ModelBuilder build("function", {2}, 1);
    const Model model = computing(build, build.op(c.kind, {build.input()}, attributes_of(c)));
    Batch batch(model, 1);
    batch.floats() = {c.at, c.at};
    EXPECT_NEAR(outputs_of(model, batch)[1], c.value, 2e-6);
  }
}

TEST(UnaryRule, DifferentiatesEachFunction) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(to_string(c.kind));
    ModelBuilder build("function", {5}, 1);
    const TensorId x = shifted(build, build.input(), 0, 0);
    const Model model = scored(build, build.op(c.kind, {x}, attributes_of(c)));
    Batch batch(model, 3, 11, c.low, c.high);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(UnaryRule, TakesOneFloatOperand) {
  ModelBuilder two("two", {5}, 1);
  EXPECT_ERROR(two.finish(two.op(OpKind::tanh, {two.input(), two.input()})), ErrorCode::malformed, "has 2 inputs");
  ModelBuilder ints("ints", {5}, 1, DataType::int32);
  EXPECT_ERROR(ints.finish(ints.op(OpKind::tanh, {ints.input()})), ErrorCode::malformed, "must be float32");
}

TEST(PreluRule, HasASlopeAChannelOrOne) {
  for (const int64_t slopes : {1, 3}) {
    SCOPED_TRACE(slopes);
    ModelBuilder build("prelu", {2, 3}, 1);
    const TensorId slope = build.parameter("slope", {slopes}, random_values(static_cast<size_t>(slopes), 2, 0.1, 0.9));
    const Model model = scored(build, build.op(OpKind::prelu, {shifted(build, build.input()), slope}));
    Batch batch(model, 3);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(PreluRule, RefusesAnotherNumberOfSlopes) {
  ModelBuilder build("prelu", {2, 3}, 1);
  const TensorId slope = build.parameter("slope", {2}, {0.1f, 0.2f});
  EXPECT_ERROR(build.finish(build.op(OpKind::prelu, {build.input(), slope})), ErrorCode::malformed,
               "slope 2 does not fit an input of 2x2x3");
}

}  // namespace
}  // namespace coterie::test
