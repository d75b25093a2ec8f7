// Networks in int8 as QDQ graphs: out with the very integers, in again with the same bits, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/seal.h"
#include "model_import/interpret/interpret.h"
#include "model_import/onnx/export_onnx.h"
#include "model_import/onnx/read_onnx.h"
#include "tests/support/int8_parts.h"
#include "tests/unit/model_import/onnx/graphs.h"

namespace coterie {
namespace {

using namespace test;
using model_import::Array;
using model_import::Element;
using model_import::Graph;
using model_import::Width;

// Every layer that there is, a branch among them; weights by 1/64, each grid another. No scale makes
// ties of whole numbers: doubles and float32 see those differently.
Int8Model every_layer() {
  ModelBuilder build("every", {8, 8, 2}, 5);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 6, .kernel = 3, .pad = 1}));
  x = build.max_pool2d(x, {});
  TensorId y = build.op(OpKind::relu6, {build.conv2d(x, {.filters = 6, .kernel = 3, .pad = 1, .groups = 6})});
  x = build.relu(build.add(x, build.conv2d(y, {.filters = 6, .kernel = 1, .bias = false})));
  x = build.op(OpKind::clip, {build.average_pool2d(x, {})}, UnaryAttributes{.alpha = -1, .beta = 2});
  x = build.op(OpKind::softmax, {build.dense(build.flatten(x), 5)}, AxisAttributes{.axis = 1});
  const Model model = *Model::load(*build.finish(x));
  Int8Parts parts = int8_parts(model);
  for (Int8Weights& weights : parts.weights) {
    for (size_t o = 0; o < weights.form.scales.size(); ++o) {
      weights.form.scales[o] = (1 + .1f * static_cast<float>(o)) / 64;
    }
  }
  for (size_t i = 0; i < parts.grids.size(); ++i) {
    parts.grids[i].scale = .0317f + .001f * static_cast<float>(i);
    parts.grids[i].zero = static_cast<int8_t>(i - 11);
  }
  Result<Int8Model> opened = open_int8_model(store_as_int8(model, parts.weights, parts.grids));
  EXPECT_OK(opened);
  return std::move(*opened);
}

std::vector<float> random_inputs(size_t count) {
  std::mt19937_64 chance(3);
  std::vector<float> input(count);
  for (float& value : input) value = static_cast<float>(chance() % 2001) / 1000 - 1;
  return input;
}

std::vector<float> answers(const Int8Program& program, const std::vector<float>& input) {
  Int8Predictor predictor(program);
  const uint64_t count = input.size() / predictor.input_elements();
  std::vector<float> output(count * predictor.output_elements());
  EXPECT_OK(predictor.run(input, count, output));
  return output;
}

// What ONNX's own words make of the graph, in doubles.
std::vector<double> by_definition(const Graph& graph, Shape shape, const std::vector<float>& input) {
  Array x{Element::real, std::move(shape), {input.begin(), input.end()}};
  const std::string output = graph.outputs[0].name;
  auto values = model_import::interpret(graph, {{graph.inputs[0].name, x}}, {output});
  EXPECT_OK(values);
  return values ? values->at(output).values : std::vector<double>();
}

TEST(OnnxQdq, TheGraphHasTheIntegersAndTheScales) {
  const Int8Model model = every_layer();
  const Result<Bytes> file = model_import::export_int8_onnx(model);
  ASSERT_OK(file);
  const Result<Graph> graph = model_import::read_onnx(*file);
  ASSERT_OK(graph);
  size_t tables = 0;
  for (const Int8Weights& weights : model.weights) {
    const std::string& name = model.exact.graph().tensors[weights.form.tensor].name;
    ASSERT_TRUE(graph->constants.contains(name)) << name;
    EXPECT_EQ(graph->constants.at(name).tensor.width, Width::int8);
    for (const model_import::Node& node : graph->nodes) {
      if (node.op != "DequantizeLinear" || node.inputs[0] != name) continue;
      ++tables;
      EXPECT_EQ(graph->constants.at(node.inputs[1]).tensor.reals, weights.form.scales);
      EXPECT_EQ(node.integer("axis", -1), 0);  // outputs come first in Gemm (transB) and Conv
    }
  }
  EXPECT_EQ(tables, model.weights.size());
}

TEST(OnnxQdq, EveryPrefixIsRefusedAndNoMutationBreaksIt) {
  const Result<Bytes> file = model_import::export_int8_onnx(every_layer());
  ASSERT_OK(file);
  for (size_t size = 0; size < file->size(); ++size) {
    const auto import = model_import::import_onnx(ByteView(*file).first(size));
    ASSERT_FALSE(import) << size;
    ASSERT_NE(import.error().code(), ErrorCode::internal) << size;
  }
  std::mt19937_64 chance(7);
  size_t imported = 0;
  for (int i = 0; i < 2'000; ++i) {
    Bytes damaged = *file;
    for (uint64_t changes = 1 + chance() % 3; changes > 0; --changes)
      damaged[chance() % damaged.size()] = static_cast<uint8_t>(chance());
    const auto import = model_import::import_onnx(damaged);
    if (!import) ASSERT_NE(import.error().code(), ErrorCode::internal) << i << ": " << import.error().message();
    else ++imported;
  }
  EXPECT_GT(imported, 0u);  // an integer of another value
  EXPECT_LT(imported, 2'000u);
}

TEST(OnnxQdq, OnnxsOwnDefinitionAgrees) {
  const Int8Model model = every_layer();
  const Result<Bytes> file = model_import::export_int8_onnx(model);
  ASSERT_OK(file);
  const Result<Graph> graph = model_import::read_onnx(*file);
  ASSERT_OK(graph);
  const std::vector<float> input = random_inputs(16 * 8 * 8 * 2);
  const std::vector<float> ours = answers(model.program, input);
  const std::vector<double> theirs = by_definition(*graph, {16, 8, 8, 2}, input);
  ASSERT_EQ(theirs.size(), ours.size());
  // Probabilities of numbers on a grid: the same grid points, but for a tie that doubles see otherwise.
  size_t apart = 0;
  for (size_t i = 0; i < ours.size(); ++i) apart += std::fabs(static_cast<double>(ours[i]) - theirs[i]) > 1e-5;
  EXPECT_LE(apart, ours.size() / 16);
}

TEST(OnnxQdq, BackAgainItHasTheSameBits) {
  const Int8Model model = every_layer();
  const Result<Bytes> file = model_import::export_int8_onnx(model);
  ASSERT_OK(file);
  const auto imported = model_import::import_onnx(*file);
  ASSERT_OK(imported);
  EXPECT_TRUE(computes_in_int8(imported->model));
  EXPECT_OK(check_seal(imported->model));
  const Result<Int8Model> again = open_int8_model(imported->model);
  ASSERT_OK(again);
  const std::vector<float> input = random_inputs(16 * 8 * 8 * 2);
  EXPECT_EQ(answers(again->program, input), answers(model.program, input));
  ASSERT_EQ(again->program.steps.size(), model.program.steps.size());
  for (size_t i = 0; i < model.program.steps.size(); ++i) {
    EXPECT_EQ(again->program.steps[i].weights, model.program.steps[i].weights);
    EXPECT_EQ(again->program.steps[i].bias, model.program.steps[i].bias);
    EXPECT_EQ(again->program.steps[i].multipliers, model.program.steps[i].multipliers);
  }
}

// A dense layer as other tools write it: x [2] -> Q -> DQ -> Gemm -> Relu -> Q -> DQ.
struct Foreign {
  OnnxBuild build;

  Foreign& integers(const std::string& name, Width width, Shape shape, const std::vector<int64_t>& values) {
    model_import::HostTensor tensor;
    tensor.element = Element::integer;
    tensor.width = width;
    tensor.shape = std::move(shape);
    for (const int64_t value : values) tensor.integers.push_back({value, false});
    build.graph.constants[name] = {std::move(tensor), false};
    return *this;
  }
  Foreign& reals(const std::string& name, Shape shape, std::vector<float> values) {
    model_import::HostTensor tensor;
    tensor.shape = std::move(shape);
    tensor.reals = std::move(values);
    build.graph.constants[name] = {std::move(tensor), false};
    return *this;
  }
  // Weights as integers by output, activations as uint8, bias as int32.
  Foreign() {
    build.input("x", {0, 2});
    reals("s_x", {}, {.5f}).integers("z_x", Width::uint8, {}, {131});
    reals("s_w", {2}, {.25f, .5f}).integers("z_w", Width::int8, {2}, {0, 0});
    integers("w", Width::int8, {2, 2}, {2, 4, -1, 3});  // [out, in]
    reals("s_b", {2}, {.125f, .25f}).integers("b", Width::int32, {2}, {4, -4});
    reals("s_y", {}, {.0917f}).integers("z_y", Width::uint8, {}, {120});
    build.node("QuantizeLinear", {"x", "s_x", "z_x"}, "xq").node("DequantizeLinear", {"xq", "s_x", "z_x"}, "xd");
    build.node("DequantizeLinear", {"w", "s_w", "z_w"}, "wd", {{"axis", int64_t{0}}});
    build.node("DequantizeLinear", {"b", "s_b"}, "bd", {{"axis", int64_t{0}}});
    build.node("Gemm", {"xd", "wd", "bd"}, "gemm", {{"transB", int64_t{1}}}).node("Relu", {"gemm"}, "relu");
    build.node("QuantizeLinear", {"relu", "s_y", "z_y"}, "yq").node("DequantizeLinear", {"yq", "s_y", "z_y"}, "y");
  }
  void expect_refused(std::string_view words) {
    const auto imported = build.import("y");
    EXPECT_ERROR(imported, ErrorCode::invalid_argument, words);
  }
};

void expect_definition(Foreign& foreign) {
  const auto imported = foreign.build.import("y");
  ASSERT_OK(imported);
  const Result<Int8Model> model = open_int8_model(imported->model);
  ASSERT_OK(model);
  const std::vector<float> input = random_inputs(2 * 64);
  const std::vector<float> ours = answers(model->program, input);
  const std::vector<double> theirs = by_definition(foreign.build.sorted("y"), {64, 2}, input);
  ASSERT_EQ(theirs.size(), ours.size());
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(static_cast<double>(ours[i]), theirs[i], 1e-6);
}

TEST(OnnxQdq, AGraphOfIntegersAndUint8) {
  Foreign foreign;
  expect_definition(foreign);
  const Result<Int8Model> model = open_int8_model(foreign.build.import("y")->model);
  ASSERT_OK(model);
  EXPECT_EQ(model->program.values[0].grid, (kernels::int8::Grid{.5f, 3}));
  EXPECT_EQ(model->program.steps[0].bias, (std::vector<int32_t>{4, -4}));
  EXPECT_EQ(model->program.steps[0].weights, (std::vector<int8_t>{2, -1, 4, 3}));
  EXPECT_EQ(model->program.steps[0].to.low, -8);
}

TEST(OnnxQdq, WeightsThatTheGraphRoundsAndOneScaleForAll) {
  Foreign foreign;
  foreign.reals("w", {2, 2}, {.3f, 1, -.2f, .8f}).reals("s_w", {}, {.25f}).integers("z_w", Width::int8, {}, {0});
  foreign.reals("s_b", {2}, {.125f, .125f});
  foreign.build.graph.nodes[2].inputs[0] = "wq";
  foreign.build.node("QuantizeLinear", {"w", "s_w", "z_w"}, "wq");
  expect_definition(foreign);
}

TEST(OnnxQdq, WhatCannotBeSaidIsRefusedByName) {
  Foreign smallest;
  smallest.integers("w", Width::int8, {2, 2}, {2, -128, -1, 3});
  smallest.expect_refused("weights are within -127 to 127");
  Foreign bias;
  bias.reals("s_b", {2}, {.5f, .25f});
  bias.expect_refused("lies on another grid than that of its input times its weights");
  Foreign inputs;
  inputs.build.graph.nodes[2].attributes["axis"] = int64_t{1};
  inputs.expect_refused("have scales that are not by output");
  Foreign both;
  both.build.graph.nodes[4].inputs[0] = "x";
  both.expect_refused("is read on the grid here, and as it is by");
  Foreign real;
  real.build.node("Neg", {"relu"}, "other");
  real.expect_refused("is read on the grid here");
  Foreign other;
  other.reals("s_z", {}, {.2f}).build.graph.nodes[1].inputs[1] = "s_z";
  other.expect_refused("it has another grid than the QuantizeLinear before it");
  Foreign wide;
  wide.integers("z_x", Width::int32, {}, {0});
  wide.expect_refused("only grids of int8 and uint8");
  Foreign zero;
  zero.reals("s_x", {}, {0.f});
  zero.expect_refused("a scale is not above 0");
  Foreign other_type;
  other_type.integers("z_w", Width::uint8, {2}, {0, 0});
  other_type.expect_refused("its zero point is of another type than its integers");
  Foreign far;
  far.integers("z_w", Width::any, {2}, {0, INT64_MIN});
  far.expect_refused("a zero point leaves 32 bits");
  Foreign sum;  // of a bias and its zero
  sum.integers("b", Width::int32, {2}, {INT32_MIN, -4}).integers("z_b", Width::int32, {2}, {1, 0});
  sum.build.graph.nodes[3].inputs.emplace_back("z_b");
  sum.expect_refused("the table b leaves 32 bits");
  Foreign nothing;  // the graph rounds it itself
  nothing.reals("w", {2, 2}, {.3f, std::nanf(""), -.2f, .8f}).reals("s_w", {}, {.25f});
  nothing.integers("z_w", Width::int8, {}, {0}).reals("s_b", {2}, {.125f, .125f});
  nothing.build.graph.nodes[2].inputs[0] = "wq";
  nothing.build.node("QuantizeLinear", {"w", "s_w", "z_w"}, "wq");
  nothing.expect_refused("the table w holds what is no number");
  Foreign integer_output;
  EXPECT_ERROR(integer_output.build.import("yq"), ErrorCode::invalid_argument, "the model's output would be integers");
  Foreign open;  // what Gemm reads is on no grid
  open.build.graph.nodes[4].inputs[0] = "x";
  std::erase_if(open.build.graph.nodes,
                [](const model_import::Node& node) { return node.outputs[0] == "xq" || node.outputs[0] == "xd"; });
  open.expect_refused("passes no QuantizeLinear");
}

}  // namespace
}  // namespace coterie
