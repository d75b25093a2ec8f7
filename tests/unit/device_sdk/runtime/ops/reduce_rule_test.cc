// reduce_*, softmax, log_softmax, matmul: what sums along dimensions.
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

const OpKind kReductions[] = {OpKind::reduce_sum, OpKind::reduce_mean, OpKind::reduce_max, OpKind::reduce_min,
                              OpKind::reduce_l2};

TEST(ReduceRule, ReducesEachAxis) {
  ModelBuilder build("reduce", {2, 2}, 1);
  const TensorId y = build.op(OpKind::reduce_sum, {build.input()}, ReduceAttributes{{1}, false});
  const Model model = computing(build, y);
  EXPECT_EQ(model.output_shape(), Shape{2});
  Batch batch(model, 2);
  batch.floats() = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(outputs_of(model, batch), (std::vector<float>{4, 6, 12, 14}));
}

TEST(ReduceRule, DifferentiatesEachReduction) {
  const std::vector<int64_t> axes[] = {{1}, {3}, {1, 3}, {1, 2, 3}};
  for (const OpKind kind : kReductions) {
    for (const auto& reduced : axes) {
      for (const bool keep : {false, true}) {
        SCOPED_TRACE(std::string(to_string(kind)) + " " + to_text(reduced));
        ModelBuilder build("reduce", {2, 3, 2}, 1);
        TensorId y = build.op(kind, {shifted(build, build.input())}, ReduceAttributes{reduced, keep});
        if (build.shape(y).empty()) y = build.reshape(y, {1});
        const Model model = scored(build, y);
        Batch batch(model, 2, 3);
        expect_gradient_is_numerical(model, batch);
      }
    }
  }
}

TEST(ReduceRule, RefusesAxesThatAreNone) {
  const std::vector<int64_t> wrong[] = {{}, {3}, {-1}, {1, 1}, {2, 1}};
  for (const auto& axes : wrong) {
    ModelBuilder build("reduce", {2, 3}, 1);
    const TensorId y = build.op(OpKind::reduce_max, {build.input()}, ReduceAttributes{axes, true});
    EXPECT_ERROR(build.finish(y), ErrorCode::malformed, axes.empty() ? "at least one" : "is not one of 2x2x3");
  }
}

TEST(SoftmaxRule, SumsToOneAlongItsAxis) {
  ModelBuilder build("softmax", {2, 3}, 1);
  const Model model = computing(build, build.op(OpKind::softmax, {build.input()}, AxisAttributes{1}));
  Batch batch(model, 1);
  batch.floats() = {0, 1, 2, 0, 1, std::log(3.0f) + 2};
  const std::vector<float> y = outputs_of(model, batch), expected = {0.5f, 0.5f, 0.25f, 0.5f, 0.5f, 0.75f};
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-6);
}

TEST(SoftmaxRule, DifferentiatesAlongEachAxis) {
  for (const OpKind kind : {OpKind::softmax, OpKind::log_softmax}) {
    for (const uint32_t axis : {1u, 2u}) {
      ModelBuilder build("softmax", {2, 3}, 1);
      const Model model = scored(build, build.op(kind, {shifted(build, build.input())}, AxisAttributes{axis}));
      Batch batch(model, 3);
      expect_gradient_is_numerical(model, batch);
    }
  }
}

TEST(SoftmaxRule, RefusesAnAxisThatIsNone) {
  ModelBuilder build("softmax", {2, 3}, 1);
  EXPECT_ERROR(build.finish(build.op(OpKind::softmax, {build.input()}, AxisAttributes{3})), ErrorCode::malformed,
               "has no axis 3");
}

struct MatmulCase {
  Shape a;  // of one example, before it is turned
  Shape b;  // of the parameter; with b_batch of one example
  bool transpose_a = false, transpose_b = false, b_batch = false;
};

const MatmulCase kMatmulCases[] = {
    {.a = {2, 3}, .b = {3, 4}},
    {.a = {3, 2}, .b = {3, 4}, .transpose_a = true},
    {.a = {2, 3}, .b = {4, 3}, .transpose_b = true},
    {.a = {3, 2}, .b = {4, 3}, .transpose_a = true, .transpose_b = true},
    {.a = {2, 3}, .b = {3, 4}, .b_batch = true},
    {.a = {3, 2}, .b = {4, 3}, .transpose_a = true, .transpose_b = true, .b_batch = true},
    {.a = {2, 2, 3}, .b = {1, 3, 4}, .b_batch = true},  // heads share the right side
    {.a = {1, 2, 3}, .b = {2, 3, 4}, .b_batch = true},  // and the left
    {.a = {2, 2, 3}, .b = {2, 3, 4}},                   // the batch shares the right side
    {.a = {2, 1, 2, 3}, .b = {1, 2, 3, 4}, .transpose_b = false, .b_batch = true},
    {.a = {3, 1, 3, 2}, .b = {2, 4, 3}, .transpose_a = true, .transpose_b = true},
};

TEST(MatmulRule, DifferentiatesEveryBroadcast) {
  for (const MatmulCase& c : kMatmulCases) {
    SCOPED_TRACE(to_text(c.a) + " and " + to_text(c.b));
    ModelBuilder build("matmul", c.a, 1);
    const TensorId a = shifted(build, build.input());
    const TensorId b =
        c.b_batch ? shifted(build, build.input("b", c.b)) : build.parameter("b", c.b, random_values(elements(c.b), 9));
    const TensorId y = build.op(OpKind::matmul, {a, b}, MatmulAttributes{c.transpose_a, c.transpose_b, 0.5f});
    const Model model = scored(build, y);
    Batch batch(model, 2);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(MatmulRule, MultipliesAndScales) {
  ModelBuilder build("matmul", {2, 2}, 1);
  const TensorId b = build.parameter("b", {2, 2}, {1, 2, 3, 4});
  const Model model = computing(build, build.op(OpKind::matmul, {build.input(), b}, MatmulAttributes{.scale = 0.5f}));
  Batch batch(model, 1);
  batch.floats() = {1, 2, 3, 4};
  EXPECT_EQ(outputs_of(model, batch), (std::vector<float>{3.5f, 5, 7.5f, 11}));
}

TEST(MatmulRule, RefusesWhatDoesNotMultiply) {
  ModelBuilder inner("matmul", {2, 3}, 1);
  const TensorId b = inner.parameter("b", {2, 3}, random_values(6, 1));
  EXPECT_ERROR(inner.finish(inner.op(OpKind::matmul, {inner.input(), b})), ErrorCode::malformed,
               "multiplies matrices of 2x3 and 2x3");
  ModelBuilder flat("matmul", {2, 3}, 1);
  const TensorId vector = flat.parameter("b", {3}, {1, 2, 3});
  EXPECT_ERROR(flat.finish(flat.op(OpKind::matmul, {flat.input(), vector})), ErrorCode::malformed,
               "input 1 must have 2 to 8 dimensions");
  ModelBuilder leading("matmul", {2, 3, 4}, 1);
  const TensorId many = leading.parameter("b", {3, 4, 5}, random_values(60, 1));
  EXPECT_ERROR(leading.finish(leading.op(OpKind::matmul, {leading.input(), many})), ErrorCode::malformed,
               "does not broadcast");
}

}  // namespace
}  // namespace coterie::test
