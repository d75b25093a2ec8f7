// Graphs held against graphs, and against model files: a fault is planted in one node, and that node must be named.
#include <gmock/gmock.h>

#include "device_sdk/runtime/seal.h"
#include "model_import/onnx/read_onnx.h"
#include "tests/unit/model_import/onnx/golden_models.h"
#include "tests/unit/model_import/onnx/graphs.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"
#include "tools/compare_tensors/model_trace.h"
#include "tools/compare_tensors/trace_comparison.h"
#include "tools/model/graph_inputs.h"
#include "tools/model/graph_trace.h"
#include "tools/model/random_inputs.h"

namespace coterie {
namespace {

using model_import::Array;
using model_import::Graph;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kTolerance = 1e-4;

GivenInputs drawn(const Graph& graph) {
  auto arrays = random_inputs(graph, {}, declared_batch(graph, 3), 1, 1);
  EXPECT_OK(arrays);
  GivenInputs given;
  for (const model_import::GraphValue& input : graph.inputs) given.emplace_back(input.name, arrays->at(input.name));
  return given;
}

GraphTrace traced(const Graph& graph, const GivenInputs& given) {
  const auto inputs = inputs_for(graph, given);
  EXPECT_OK(inputs);
  Result<GraphTrace> trace = trace_of(graph, *inputs);
  EXPECT_OK(trace);
  return std::move(*trace);
}

TensorComparison compared(const Graph& a, const Graph& b) {
  const GivenInputs given = drawn(b);
  const GraphTrace of_a = traced(a, given), of_b = traced(b, given);
  Result<TensorComparison> comparison = compare_traces(of_a.trace, of_b.trace, kTolerance, [&](uint32_t i, uint32_t j) {
    return node_notes(a, *of_a.nodes[i], b, *of_b.nodes[j], kTolerance);
  });
  EXPECT_OK(comparison);
  return std::move(*comparison);
}

std::string first_of(const TensorComparison& comparison) {
  return comparison.first_apart() == nullptr ? "" : comparison.first_apart()->name;
}

void scale(Graph& graph, const std::string& name, float factor) {
  for (float& value : graph.constants.at(name).tensor.reals) value *= factor;
}

// x -> c = conv -> n = norm(c) -> r = relu(n) -> p = pool(r) -> f = flatten(p) -> h = f A + a -> y = relu(h) B
Graph net(const std::string& prefix = "") {
  test::OnnxBuild build;
  const auto name = [&](const std::string& plain) { return prefix.empty() ? plain : prefix + plain; };
  build.input("x", {0, 2, 6, 6})
      .weight("conv.weight", {3, 2, 3, 3})
      .weight("norm.scale", {3})
      .weight("norm.shift", {3});
  build.weight("norm.mean", {3}, -1).weight("norm.variance", {3}, 2).weight("a.weight", {27, 4}).weight("a.bias", {4});
  build.weight("b.weight", {4, 4}, -3);
  scale(build.graph, "conv.weight", 0.01f);
  scale(build.graph, "a.weight", 0.001f);
  build.node("Conv", {"x", "conv.weight"}, name("c"), {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  build.node("BatchNormalization", {name("c"), "norm.scale", "norm.shift", "norm.mean", "norm.variance"}, name("n"));
  build.node("Relu", {name("n")}, name("r"));
  build.node("MaxPool", {name("r")}, name("p"),
             {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  build.node("Flatten", {name("p")}, name("f")).node("Gemm", {name("f"), "a.weight", "a.bias"}, name("h"));
  build.node("Relu", {name("h")}, name("s")).node("MatMul", {name("s"), "b.weight"}, name("y"));
  return build.sorted(name("y"));
}

TEST(GraphComparison, FindsAPlantedFaultWhereItIs) {
  EXPECT_EQ(first_of(compared(net(), net())), "");
  Graph padded = net(), transposed = net(), epsilon = net(), biased = net();
  padded.nodes[0].attributes["pads"] = std::vector<int64_t>{2, 1, 0, 1};
  auto& weight = transposed.constants.at("b.weight").tensor.reals;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < i; ++j) std::swap(weight[i * 4 + j], weight[j * 4 + i]);
  }
  epsilon.nodes[1].attributes["epsilon"] = 0.1f;
  biased.nodes[5].inputs.pop_back();
  const TensorComparison comparison = compared(padded, net());
  ASSERT_EQ(first_of(comparison), "c");
  EXPECT_THAT(comparison.first_apart()->notes, ElementsAre("pads: 2,1,0,1 and 1,1,1,1"));
  EXPECT_FALSE(comparison.tensors.back().is_origin) << "a consequence";
  const TensorComparison of_weight = compared(transposed, net());
  ASSERT_EQ(first_of(of_weight), "y");
  EXPECT_THAT(of_weight.first_apart()->notes, ElementsAre("b.weight: transposed"));
  const TensorComparison of_norm = compared(epsilon, net());
  ASSERT_EQ(first_of(of_norm), "n");
  EXPECT_THAT(of_norm.first_apart()->notes, ElementsAre("epsilon: 0.1 and not given"));
  const TensorComparison of_bias = compared(biased, net());
  ASSERT_EQ(first_of(of_bias), "h");
  EXPECT_THAT(of_bias.first_apart()->notes, ElementsAre("operands: not as many"));
}

TEST(GraphComparison, OtherNamesArePairsByPlace) {
  Graph wrong = net("mine_");
  scale(wrong, "a.weight", 2);
  const TensorComparison comparison = compared(wrong, net());
  ASSERT_EQ(first_of(comparison), "mine_h");
  EXPECT_EQ(comparison.first_apart()->other, "h");
  EXPECT_EQ(comparison.first_apart()->paired_by, "place");
  EXPECT_EQ(comparison.tensors.size(), 7u);
  EXPECT_THAT(comparison.only_a, ElementsAre("mine_f")) << "it moves values, and is a pair by name alone";
}

// An exporter's passes put nodes in between and number all values anew: names of digits say nothing.
TEST(GraphComparison, WhatStandsInBetweenIsLeftAside) {
  Graph more = net("1"), less = net("2");
  for (Graph* graph : {&more, &less}) {
    std::map<std::string, std::string> numbers{{"x", "x"}};
    for (model_import::Node& node : graph->nodes) {
      node.name.clear();
      for (std::string& input : node.inputs) input = numbers.contains(input) ? numbers.at(input) : input;
      const auto number = std::to_string(graph == &more ? 10 + numbers.size() : 11 + numbers.size());
      numbers[node.outputs[0]] = number;
      node.outputs[0] = number;
    }
    graph->outputs[0].name = graph->nodes.back().outputs[0];
  }
  more.nodes.insert(more.nodes.begin() + 3, model_import::Node{.op = "Identity", .inputs = {"13"}, .outputs = {"i"}});
  more.nodes[4].inputs[0] = "i";
  const TensorComparison comparison = compared(more, less);
  EXPECT_EQ(first_of(comparison), "");
  EXPECT_EQ(comparison.tensors.size(), 7u);
  for (const ComparedTensor& tensor : comparison.tensors) EXPECT_EQ(tensor.verdict, TensorVerdict::same);
  scale(more, "conv.weight", 3);
  EXPECT_EQ(first_of(compared(more, less)), more.nodes[0].outputs[0]);
}

// A norm in parts has sums that are no other's: none of them is a pair with a sum elsewhere.
TEST(GraphComparison, SumsArePairsBehindAPairAlone) {
  const auto chain = [](bool is_in_parts) {
    test::OnnxBuild build;
    const std::string own = is_in_parts ? "p_" : "w_";
    build.input("x", {0, 4}).weight("a", {4, 4}, -7).weight("one", {4}).weight("b", {4});
    build.node("MatMul", {"x", "a"}, own + "h");
    if (is_in_parts) build.node("Mul", {own + "h", own + "h"}, own + "m").node("Add", {own + "m", "one"}, own + "n");
    else build.node("LayerNormalization", {own + "h", "one"}, own + "n", {{"axis", int64_t{-1}}});
    build.node("Relu", {own + "n"}, own + "r").node("Add", {own + "r", "b"}, own + "s");
    build.node("MatMul", {own + "s", "a"}, own + "y");
    return build.sorted(own + "y");
  };
  const TensorComparison comparison = compared(chain(true), chain(false));
  std::vector<std::string> names;
  for (const ComparedTensor& tensor : comparison.tensors) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("p_h", "p_r", "p_s", "p_y"));
  EXPECT_THAT(comparison.only_a, ElementsAre("p_m", "p_n"));
}

// The same network with its numbers stored in float16: what is beyond 65504 becomes infinite.
TEST(GraphComparison, NamesTheLayerThatOverflowsFloat16) {
  const auto cast_net = [](int64_t to) {
    test::OnnxBuild build;
    build.input("x", {0, 8}).weight("a", {8, 4}, 100).weight("b", {4, 4}, 0).weight("c", {4, 2}, -4);
    scale(build.graph, "a", 0.01f);
    scale(build.graph, "b", 4000);
    const auto cast = [&](const std::string& from, int64_t type) {
      build.node("Cast", {from}, from + "_half", {{"to", type}});
    };
    cast("x", to), cast("a", to), cast("b", to), cast("c", to);
    build.node("MatMul", {"x_half", "a_half"}, "h").node("Abs", {"h"}, "r").node("MatMul", {"r", "b_half"}, "wide");
    build.node("MatMul", {"wide", "c_half"}, "z").node("Cast", {"z"}, "y", {{"to", int64_t{1}}});
    return build.sorted("y");
  };
  constexpr int64_t kFloat = 1, kHalf = 10;
  Graph half = cast_net(kHalf);
  const GivenInputs given = drawn(half);
  const GraphTrace a = traced(half, given), b = traced(cast_net(kFloat), given);
  const Result<TensorComparison> comparison = compare_traces(a.trace, b.trace, 0.01);
  ASSERT_OK(comparison);
  ASSERT_EQ(first_of(*comparison), "wide");
  EXPECT_EQ(comparison->first_apart()->kind, "MatMul");
  EXPECT_EQ(comparison->first_apart()->verdict, TensorVerdict::not_finite);
  EXPECT_THAT(comparison->first_apart()->notes,
              Contains(HasSubstr("infinite where the reference is beyond 65504, float16's largest")));
  EXPECT_EQ(comparison->tensors.back().name, "y");
  EXPECT_FALSE(comparison->tensors.back().is_origin) << "a consequence";
  const Result<TensorComparison> reversed = compare_traces(b.trace, a.trace, 0.01);
  ASSERT_OK(reversed);
  EXPECT_THAT(reversed->first_apart()->notes, Contains(HasSubstr("the reference is infinite in")));
}

TEST(GraphComparison, GivenInputsAreOrderedAndJudged) {
  const Graph graph = net();
  GivenInputs given = drawn(graph);
  given[0].second.values[5] = 1 + 0x1p-40;  // which no float is
  const auto plain = inputs_for(graph, given);
  ASSERT_OK(plain);
  Array& x = given[0].second;  // as NHWC, and by its place
  Array last{x.element, {3, 6, 6, 2}, std::vector<double>(x.values.size())};
  for (size_t i = 0; i < x.values.size(); ++i) {
    const size_t example = i / 72, channel = i / 36 % 2, pixel = i % 36;
    last.values[example * 72 + pixel * 2 + channel] = x.values[i];
  }
  const auto moved = inputs_for(graph, GivenInputs{{"images", last}});
  ASSERT_OK(moved);
  EXPECT_EQ(moved->at("x").values, plain->at("x").values);
  last.shape = {3, 36, 2, 1};
  const auto refused = inputs_for(graph, GivenInputs{{"x", last}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("input x: has shape 3x36x2x1, the graph declares batchx2x6x6"));
  EXPECT_THAT(inputs_for(graph, GivenInputs{}).error().message(),
              HasSubstr("takes other inputs than are given; taken: x; given: none"));
  EXPECT_THAT(inputs_for(graph, GivenInputs{{"", last}, {"y", last}}).error().message(),
              HasSubstr("taken: x; given: one without a name, y"));
}

// Each exporter's graph beside the model file that it becomes, whose ops are others and whose images lie otherwise.
TEST(GraphComparison, AConvertedModelAgreesWithItsGraph) {
  for (const std::string& name : test::golden_models()) {
    const std::optional<Model> model = test::imported(name);
    if (!model) continue;  // an op is left out of this build
    Result<Graph> graph = model_import::read_onnx(test::read_or_die(test::golden_path(name + ".onnx")));
    ASSERT_OK(graph);
    graph->outputs.resize(1);
    const GivenInputs given = drawn(*graph);
    const auto inputs = inputs_for(*model, given);
    ASSERT_OK(inputs);
    const Result<TensorTrace> of_model = trace_of(*model, inputs->words, inputs->examples);
    ASSERT_OK(of_model);
    const GraphTrace of_graph = traced(*graph, given);
    const Result<TensorComparison> comparison = compare_traces(of_graph.trace, *of_model, kTolerance);
    ASSERT_OK(comparison);
    EXPECT_EQ(first_of(*comparison), "") << name << ", "
                                         << (first_of(*comparison).empty() ? "" : comparison->first_apart()->title());
    const auto output = std::ranges::find(comparison->tensors, graph->outputs[0].name, &ComparedTensor::name);
    if (name == "shuffle") continue;  // the model's last op is a view, which has no values of its own
    EXPECT_NE(output, comparison->tensors.end()) << name << ": its output is not compared";
  }
}

}  // namespace
}  // namespace coterie
