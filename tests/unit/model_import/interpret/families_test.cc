// Operators that models seldom have, beside values computed by hand, and their bad operands.
#include <gtest/gtest.h>

#include <cmath>

#include "model_import/interpret/interpret.h"
#include "tests/support/matchers.h"
#include "tests/unit/model_import/onnx/graphs.h"

namespace coterie::model_import {
namespace {

Array reals(Shape shape, std::vector<double> values) { return {Element::real, std::move(shape), std::move(values)}; }
Array whole_numbers(Shape shape, std::vector<double> values, Width width = Width::any) {
  return {Element::integer, std::move(shape), std::move(values), width};
}

// The first output of a node whose operands are given.
Result<Array> computed(const std::string& op, std::vector<Array> operands, std::map<std::string, Attribute> attributes,
                       Intent intent = Intent::specification, int64_t opset = 17) {
  Graph graph;
  graph.opset = opset;
  Node node{.op = op, .name = "node", .inputs = {}, .outputs = {"y"}, .attributes = std::move(attributes)};
  Arrays values;
  for (size_t i = 0; i < operands.size(); ++i) {
    node.inputs.push_back("x" + std::to_string(i));
    values[node.inputs.back()] = std::move(operands[i]);
  }
  graph.nodes.push_back(std::move(node));
  auto result = interpret(graph, values, {"y"}, intent);
  if (!result) return result.error();
  return result->at("y");
}

void expect_values(const Result<Array>& seen, const Shape& shape, const std::vector<double>& values) {
  ASSERT_OK(seen);
  EXPECT_EQ(seen->shape, shape);
  ASSERT_EQ(seen->values.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(seen->values[i], values[i], 1e-6) << i;
}

TEST(InterpretedFamilies, IntegersOfEightBitsWrapAround) {
  const Array a = whole_numbers({2}, {200, 3}, Width::uint8), b = whole_numbers({2}, {100, 5}, Width::uint8);
  expect_values(computed("Add", {a, b}, {}), {2}, {44, 8});
  expect_values(computed("Sub", {a, b}, {}), {2}, {100, 254});
}

TEST(InterpretedFamilies, ACastToHalfRoundsInARunAlone) {
  const Array x = reals({2}, {1 + 0x1p-11 + 0x1p-20, 70000});
  const auto half = computed("Cast", {x}, {{"to", int64_t{10}}});
  ASSERT_OK(half);
  EXPECT_EQ(half->values[0], 1 + 0x1p-10);
  EXPECT_EQ(half->values[1], INFINITY);
  const auto judged = computed("Cast", {x}, {{"to", int64_t{10}}}, Intent::prediction);
  ASSERT_OK(judged);
  EXPECT_EQ(judged->values, x.values);
}

// The width of an input is not known; one operand that is known to be of float16 says what the node computes in.
TEST(InterpretedFamilies, OperandsOfHalfMakeAResultOfHalf) {
  Array half = reals({2}, {60000, 1 + 0x1p-10});
  half.width = Width::float16;
  const Array x = reals({2}, {2, 1 + 0x1p-10});
  for (const Intent intent : {Intent::specification, Intent::stored_prediction}) {
    const auto product = computed("Mul", {x, half}, {}, intent);
    ASSERT_OK(product);
    EXPECT_EQ(product->values, (std::vector<double>{INFINITY, 1 + 0x1p-9}));
    EXPECT_EQ(product->width, Width::float16) << "it goes on with the next node";
    EXPECT_EQ(computed("Cast", {*product}, {{"to", int64_t{1}}}, intent)->width, Width::float32);
    EXPECT_EQ(computed("Greater", {half, x}, {}, intent)->values, (std::vector<double>{1, 0}));
  }
  EXPECT_EQ(computed("Mul", {x, half}, {}, Intent::prediction)->values[0], 120000);
}

TEST(InterpretedFamilies, EinsumSumsOverLettersThatTheResultHasNot) {
  const Array a = reals({2, 2}, {1, 2, 3, 4}), b = reals({2, 2}, {5, 6, 7, 8});
  expect_values(computed("Einsum", {a, b}, {{"equation", std::string("ij,jk->ik")}}), {2, 2}, {19, 22, 43, 50});
  expect_values(computed("Einsum", {a}, {{"equation", std::string("...ii->...i")}}), {2}, {1, 4});
  EXPECT_ERROR(computed("Einsum", {a}, {{"equation", std::string("ij->ik")}}), ErrorCode::malformed, "no operand has");
  EXPECT_ERROR(computed("Einsum", {a}, {{"equation", std::string("i->i")}}), ErrorCode::malformed, "another rank");
  const Array wide = reals({1 << 11}, std::vector<double>(1 << 11));
  EXPECT_ERROR(computed("Einsum", {wide, wide, wide}, {{"equation", std::string("a,b,c->")}}), ErrorCode::too_large,
               "2^32");
}

TEST(InterpretedFamilies, PlacesBeyondTheOperandAreRefused) {
  const Array x = reals({2, 2}, {1, 2, 3, 4}), far = whole_numbers({1, 1}, {2});
  EXPECT_ERROR(computed("GatherND", {x, far}, {}), ErrorCode::malformed, "index 2");
  EXPECT_ERROR(computed("GatherElements", {x, far}, {}), ErrorCode::malformed, "index 2");
  EXPECT_ERROR(computed("ScatterElements", {x, far, reals({1, 1}, {1})}, {}), ErrorCode::malformed, "index 2");
  EXPECT_ERROR(computed("ScatterND", {x, far, reals({1, 2}, {1, 1})}, {}), ErrorCode::malformed, "index 2");
  EXPECT_ERROR(computed("TopK", {x, whole_numbers({1}, {3})}, {}), ErrorCode::malformed, "k of 3");
  EXPECT_ERROR(computed("ReverseSequence", {x, whole_numbers({2}, {1, 3})}, {}), ErrorCode::malformed, "out of range");
}

TEST(InterpretedFamilies, TopKTakesTheFirstOfEqualOnes) {
  expect_values(computed("TopK", {reals({4}, {1, 3, 3, 2}), whole_numbers({1}, {2})}, {}), {2}, {3, 3});
}

TEST(InterpretedFamilies, ALossWithoutWeightedTargetsIsNoNumber) {
  const Array log_p = reals({2, 2}, {-1, -2, -3, -4}), target = whole_numbers({2}, {1, 1});
  expect_values(computed("NegativeLogLikelihoodLoss", {log_p, target}, {}), {}, {3});
  EXPECT_ERROR(computed("NegativeLogLikelihoodLoss", {log_p, whole_numbers({2}, {0, 2})}, {}), ErrorCode::malformed,
               "no class");
}

TEST(InterpretedFamilies, WhatIsRandomIsRefusedInARun) {
  const Array x = reals({2}, {1, 2}), ratio = reals({}, {0.5}), yes{Element::boolean, {}, {1}};
  EXPECT_ERROR(computed("Dropout", {x, ratio, yes}, {}), ErrorCode::invalid_argument, "at random");
  expect_values(computed("Dropout", {x, ratio, yes}, {}, Intent::prediction), {2}, {1, 2});
}

TEST(InterpretedFamilies, CubicResizeKeepsAConstant) {
  expect_values(
      computed("Resize", {reals({3}, {2, 2, 2}), reals({0}, {}), reals({1}, {2})}, {{"mode", std::string("cubic")}}),
      {6}, {2, 2, 2, 2, 2, 2});
}

TEST(InterpretedFamilies, AVolumeIsPooledAndConvolved) {
  const Array x = reals({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_values(computed("MaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{2, 2, 2}}}), {1, 1, 1, 1, 1}, {8});
  expect_values(computed("Conv", {x, reals({1, 1, 2, 2, 2}, std::vector<double>(8, 1))}, {}), {1, 1, 1, 1, 1}, {36});
}

}  // namespace
}  // namespace coterie::model_import
