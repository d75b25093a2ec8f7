// The interpreter beside values that were computed by hand: what ONNX's own tests leave out, and what differs between
// opsets.
#include <gtest/gtest.h>

#include <cmath>

#include "model_import/interpret/interpret.h"
#include "tests/support/matchers.h"
#include "tests/unit/model_import/onnx/graphs.h"

namespace coterie::model_import {
namespace {

Array reals(Shape shape, std::vector<double> values) { return {Element::real, std::move(shape), std::move(values)}; }

// The value "y" of one node, or of a few, for an input "x".
struct Scene {
  test::OnnxBuild build;
  int64_t opset = 17;

  Result<Array> y(const Array& x) {
    Graph graph = build.sorted("y");
    graph.opset = opset;
    auto values = interpret(graph, {{"x", x}}, {"y"});
    if (!values) return values.error();
    return values->at("y");
  }
};

Result<Array> unary(const std::string& op, const Array& x, std::map<std::string, Attribute> attributes = {},
                    int64_t opset = 17) {
  Scene scene;
  scene.opset = opset;
  scene.build.input("x", {2, 2}).node(op, {"x"}, "y", std::move(attributes));
  return scene.y(x);
}

void expect_values(const Result<Array>& seen, const Shape& shape, const std::vector<double>& values) {
  ASSERT_OK(seen);
  EXPECT_EQ(seen->shape, shape);
  ASSERT_EQ(seen->values.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(seen->values[i], values[i], 1e-12) << i;
}

TEST(Interpret, ErfIsTheErrorFunction) {
  expect_values(unary("Erf", reals({1, 2}, {0, 0.5})), {1, 2}, {0, 0.5204998778130465});
}

// ONNX's own test of it has more numbers than a golden file should. Source: PyTorch, torch.nn.functional.mish.
TEST(Interpret, MishIsXTimesTanhOfSoftplus) {
  expect_values(unary("Mish", reals({1, 3}, {-1, 0, 1}), {}, 18), {1, 3},
                {-0.30340146137410895, 0, 0.8650983882673103});
}

TEST(Interpret, SoftmaxBeforeOpset13TakesAllDimensionsFromTheAxisOnAsOne) {
  const Array x = reals({1, 2, 2}, {0, 0, std::log(2.0), std::log(5.0)});
  expect_values(unary("Softmax", x, {{"axis", int64_t{1}}}, 12), {1, 2, 2}, {1 / 9.0, 1 / 9.0, 2 / 9.0, 5 / 9.0});
  expect_values(unary("Softmax", x, {{"axis", int64_t{1}}}, 13), {1, 2, 2}, {1 / 3.0, 1 / 6.0, 2 / 3.0, 5 / 6.0});
}

TEST(Interpret, AxesAreAttributesBeforeOpset13AndOperandsFromThereOn) {
  const std::map<std::string, Attribute> axes{{"axes", std::vector<int64_t>{1}}};
  const Array x = reals({2, 1, 2}, {1, 2, 3, 4});
  expect_values(unary("Squeeze", x, axes, 12), {2, 2}, {1, 2, 3, 4});
  expect_values(unary("ReduceSum", x, axes, 12), {2, 1, 2}, {1, 2, 3, 4});
  for (const char* op : {"Squeeze", "ReduceSum"}) {
    Scene scene;
    scene.build.input("x", {2, 1, 2}).integers("axes", {-1}).node("Transpose", {"x"}, "t").node(op, {"t", "axes"}, "y");
    expect_values(scene.y(reals({1, 1, 2}, {1, 2})), std::string(op) == "Squeeze" ? Shape{2, 1} : Shape{2, 1, 1},
                  {1, 2});
  }
}

TEST(Interpret, ReduceMeanTakesItsAxesAsOperandFromOpset18On) {
  Scene scene;
  scene.opset = 18;
  scene.build.input("x", {2, 2})
      .integers("axes", {0})
      .node("ReduceMean", {"x", "axes"}, "y", {{"keepdims", int64_t{0}}});
  expect_values(scene.y(reals({2, 2}, {1, 2, 3, 4})), {2}, {2, 3});
}

TEST(Interpret, SplitTakesItsSizesAsAttributeBeforeOpset13) {
  Scene scene;
  scene.opset = 12;
  scene.build.input("x", {1, 3})
      .node("Split", {"x"}, "y", {{"axis", int64_t{1}}, {"split", std::vector<int64_t>{1, 2}}});
  scene.build.graph.nodes.back().outputs = {"first", "y"};
  expect_values(scene.y(reals({1, 3}, {1, 2, 3})), {1, 2}, {2, 3});
}

TEST(Interpret, ACeilModeWindowThatBeginsInTheTrailingPaddingIsNone) {
  Scene scene;
  scene.build.input("x", {1, 1, 3})
      .node(
          "AveragePool", {"x"}, "y",
          {{"kernel_shape", std::vector<int64_t>{2}}, {"strides", std::vector<int64_t>{2}}, {"ceil_mode", int64_t{1}}});
  expect_values(scene.y(reals({1, 1, 3}, {1, 3, 5})), {1, 1, 2}, {2, 5});
}

TEST(Interpret, TrainingChangesNothing) {
  Scene scene;
  scene.build.input("x", {1, 2})
      .weight("one", {2}, 1)   // 1, 2
      .weight("zero", {2}, 0)  // 0, 1
      .node("BatchNormalization", {"x", "one", "zero", "zero", "one"}, "y",
            {{"training_mode", int64_t{1}}, {"epsilon", 0.0f}});
  expect_values(scene.y(reals({1, 2}, {3, 3})), {1, 2}, {3, 1 + 2 * 2 / std::sqrt(2.0)});
}

TEST(Interpret, AnUnknownOperatorIsNamed) {
  Scene scene;
  scene.build.input("x", {1, 2}).node("Bernoulli", {"x"}, "y");
  const auto y = scene.y(reals({1, 2}, {1, 2}));
  ASSERT_FALSE(y.has_value());
  EXPECT_EQ(y.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(y.error().message().find("does not know operator Bernoulli"), std::string::npos) << y.error().message();
}

TEST(Interpret, AnUnknownFormIsNamed) {
  const auto y = unary("Cast", reals({1, 1}, {1}), {{"to", int64_t{17}}});
  ASSERT_FALSE(y.has_value());
  EXPECT_NE(y.error().message().find("a cast to type 17"), std::string::npos) << y.error().message();
}

TEST(Interpret, WhatTheOutputDoesNotNeedIsNotComputed) {
  Scene scene;
  scene.build.input("x", {1, 2}).node("Neg", {"x"}, "y").node("Bernoulli", {"y"}, "other");
  expect_values(scene.y(reals({1, 2}, {1, 2})), {1, 2}, {-1, -2});
}

TEST(Interpret, ShapesThatDoNotFitAreRefused) {
  Scene scene;
  scene.build.input("x", {2, 3}).weight("w", {2, 2}).node("MatMul", {"x", "w"}, "y");
  EXPECT_EQ(scene.y(reals({2, 3}, {1, 2, 3, 4, 5, 6})).error().code(), ErrorCode::malformed);
}

TEST(Interpret, ATensorOfTooManyElementsIsRefused) {
  Scene scene;
  scene.build.input("x", {1}).integers("shape", {1 << 20, 1 << 20}).node("Expand", {"x", "shape"}, "y");
  EXPECT_EQ(scene.y(reals({1}, {1})).error().code(), ErrorCode::too_large);
}

}  // namespace
}  // namespace coterie::model_import
