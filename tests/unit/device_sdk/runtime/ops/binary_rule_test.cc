#include <gtest/gtest.h>

#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

const OpKind kKinds[] = {OpKind::add, OpKind::sub,     OpKind::mul,    OpKind::div,
                         OpKind::pow, OpKind::minimum, OpKind::maximum};

float value_of(OpKind kind, float a, float b) {
  switch (kind) {
    case OpKind::add: return a + b;
    case OpKind::sub: return a - b;
    case OpKind::mul: return a * b;
    case OpKind::div: return a / b;
    case OpKind::pow: return std::pow(a, b);
    case OpKind::minimum: return std::min(a, b);
    default: return std::max(a, b);
  }
}

// Operand shapes that meet the input, [batch, 2, 3], from either side.
const Shape kShapes[] = {{}, {1}, {3}, {2, 1}, {2, 3}, {1, 2, 3}};  // a parameter has at least one dimension

TEST(BinaryRule, BroadcastsAsNumPy) {
  for (const OpKind kind : kKinds) {
    for (const Shape& shape : kShapes) {
      for (const bool swapped : {false, true}) {
        SCOPED_TRACE(std::string(to_string(kind)) + " " + to_text(shape));
        ModelBuilder build("binary", {2, 3}, 1);
        const std::vector<float> values = random_values(elements(shape), 3, 0.5, 2);
        const TensorId a = build.input(), b = build.constant("b", shape, std::span<const float>(values));
        const Model model = computing(build, swapped ? build.op(kind, {b, a}) : build.op(kind, {a, b}));
        Batch batch(model, 2, 5, 0.5, 2);
        const std::vector<float> y = outputs_of(model, batch);
        ASSERT_EQ(y.size(), 12u);
        for (size_t i = 0; i < y.size(); ++i) {
          const size_t row = i / 3 % 2, column = i % 3;
          const size_t at = values.size() == 1 ? 0 : values.size() == 3 ? column : values.size() == 2 ? row : i % 6;
          const float x = batch.floats()[i], other = values[at];
          EXPECT_NEAR(y[i], swapped ? value_of(kind, other, x) : value_of(kind, x, other), 1e-5);
        }
      }
    }
  }
}

TEST(BinaryRule, SumsTheGradientOfABroadcastOperand) {
  for (const OpKind kind : kKinds) {
    for (const Shape& shape : kShapes) {
      if (shape.empty()) continue;
      for (const bool swapped : {false, true}) {
        SCOPED_TRACE(std::string(to_string(kind)) + " " + to_text(shape) + (swapped ? " first" : " second"));
        ModelBuilder build("binary", {2, 3}, 1);
        const TensorId a = shifted(build, build.input());
        const TensorId b = build.parameter("b", shape, random_values(elements(shape), 3, 1, 1.5));
        const Model model = scored(build, swapped ? build.op(kind, {b, a}) : build.op(kind, {a, b}));
        Batch batch(model, 2, 5, 0.7, 1.8);
        expect_gradient_is_numerical(model, batch);
      }
    }
  }
}

// Both operands one tensor: its gradient is the sum of both.
TEST(BinaryRule, DifferentiatesASquare) {
  for (const OpKind kind : {OpKind::mul, OpKind::add}) {
    ModelBuilder build("square", {4}, 1);
    const TensorId x = shifted(build, build.input());
    const Model model = scored(build, build.op(kind, {x, x}));
    Batch batch(model, 3);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(BinaryRule, RefusesShapesThatDoNotMeet) {
  ModelBuilder build("binary", {2, 3}, 1);
  const TensorId b = build.parameter("b", {2}, {1, 2});
  EXPECT_ERROR(build.finish(build.op(OpKind::mul, {build.input(), b})), ErrorCode::malformed,
               "operand 2 does not broadcast with 2x2x3");
}

}  // namespace
}  // namespace coterie::test
