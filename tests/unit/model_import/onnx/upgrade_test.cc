// Graphs of before opset 11.
#include <gtest/gtest.h>

#include "model_import/interpret/interpret.h"
#include "model_import/onnx/upgrade.h"
#include "tests/support/matchers.h"

namespace coterie::model_import {
namespace {

Graph graph_of(Node node, int64_t opset) {
  Graph graph;
  graph.opset = opset;
  graph.nodes.push_back(std::move(node));
  return graph;
}

std::vector<double> computed(const Graph& graph, const Array& x) {
  const auto values = interpret(graph, {{"x", x}}, {"y"});
  EXPECT_OK(values);
  return values ? values->at("y").values : std::vector<double>();
}

TEST(Upgrade, AttributesThatHaveBecomeOperandsAreMoved) {
  const Array x{Element::real, {4}, {-2, -1, 1, 2}};
  Graph clip = graph_of({"Clip", "c", {"x"}, {"y"}, {{"min", -1.5f}, {"max", 1.0f}}}, 6);
  ASSERT_OK(upgrade(clip));
  EXPECT_EQ(clip.opset, 11);
  EXPECT_EQ(computed(clip, x), (std::vector<double>{-1.5, -1, 1, 1}));
  Graph pad = graph_of({"Pad", "p", {"x"}, {"y"}, {{"pads", std::vector<int64_t>{1, 0}}, {"value", 5.0f}}}, 2);
  ASSERT_OK(upgrade(pad));
  EXPECT_EQ(computed(pad, x), (std::vector<double>{5, -2, -1, 1, 2}));
  Graph slice = graph_of(
      {"Slice", "s", {"x"}, {"y"}, {{"starts", std::vector<int64_t>{1}}, {"ends", std::vector<int64_t>{3}}}}, 9);
  ASSERT_OK(upgrade(slice));
  EXPECT_EQ(computed(slice, x), (std::vector<double>{-1, 1}));
  Graph largest = graph_of({"TopK", "t", {"x"}, {"y"}, {{"k", int64_t{2}}}}, 9);
  ASSERT_OK(upgrade(largest));
  EXPECT_EQ(computed(largest, x), (std::vector<double>{2, 1}));
}

TEST(Upgrade, AnOperatorThatMeantSomethingElseIsRefusedByName) {
  Graph sum = graph_of({"Add", "sum", {"x", "x"}, {"y"}, {}}, 6);
  EXPECT_ERROR(upgrade(sum), ErrorCode::invalid_argument, "node sum (Add) of opset 6");
  Graph norm = graph_of({"BatchNormalization", "norm", {"x"}, {"y"}, {{"spatial", int64_t{0}}}}, 8);
  EXPECT_ERROR(upgrade(norm), ErrorCode::invalid_argument, "node norm");
  Graph unknown = graph_of({"com.acme.Magic", "m", {"x"}, {"y"}, {}}, 9);
  EXPECT_ERROR(upgrade(unknown), ErrorCode::invalid_argument, "opset_version=17");
}

TEST(Upgrade, OperandsThatAnEditionDoesNotHaveAreRefused) {
  Graph clip = graph_of({"Clip", "c", {"x", "low"}, {"y"}, {}}, 6);
  EXPECT_ERROR(upgrade(clip), ErrorCode::malformed, "has not the operands");
}

TEST(Upgrade, LaterGraphsAreLeftAlone) {
  Graph graph = graph_of({"Bernoulli", "b", {"x"}, {"y"}, {}}, 15);
  ASSERT_OK(upgrade(graph));
  EXPECT_EQ(graph.opset, 15);
}

}  // namespace
}  // namespace coterie::model_import
