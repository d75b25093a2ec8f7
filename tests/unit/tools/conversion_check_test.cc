// That a conversion is held against the ONNX graph: right ones agree, and wrong ones are found where they go wrong.
#include <gtest/gtest.h>

#include <algorithm>

#include "device_sdk/runtime/seal.h"
#include "model_import/onnx/read_onnx.h"
#include "tests/unit/model_import/onnx/golden_models.h"
#include "tests/unit/model_import/onnx/graphs.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"
#include "tools/model/conversion_check.h"
#include "tools/model/random_inputs.h"

namespace coterie {
namespace {

using model_import::Graph;

Result<Bytes> converted(Graph graph) {
  COT_ASSIGN(model_import::ImportedModel imported, model_import::import_graph(std::move(graph)));
  seal(imported.model);
  return std::move(imported.model);
}

Result<ConversionResult> checked(const Graph& graph, const Conversion& convert) {
  COT_ASSIGN(Bytes file, convert(graph));
  COT_ASSIGN(const Model model, Model::load(std::move(file)));
  return check_conversion(graph, {}, model, convert);
}

class GoldenConversion : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, GoldenConversion, testing::ValuesIn(test::golden_models()),
                         [](const auto& info) { return info.param; });

TEST_P(GoldenConversion, AgreesWithTheGraph) {
  if (!test::imported(GetParam())) GTEST_SKIP() << "an op is left out of this build";
  Result<Graph> graph = model_import::read_onnx(test::read_or_die(test::golden_path(GetParam() + ".onnx")));
  ASSERT_OK(graph);
  graph->outputs.resize(1);
  const Result<ConversionResult> result = checked(*graph, converted);
  ASSERT_OK(result);
  EXPECT_TRUE(result->agrees) << result->absolute << " at " << result->first_tensor << ", " << result->first_node;
  EXPECT_LT(result->relative, 1e-5);
}

// x -> h = x A + a -> r = leaky(h) -> y = r B
Graph two_layers() {
  test::OnnxBuild build;
  build.input("x", {0, 3}).weight("a.weight", {3, 4}, -2).weight("a.bias", {4}).weight("b.weight", {4, 2}, -3);
  build.node("Gemm", {"x", "a.weight", "a.bias"}, "h").node("LeakyRelu", {"h"}, "r", {{"alpha", 0.25f}});
  build.node("MatMul", {"r", "b.weight"}, "y");
  return build.sorted("y");
}

// A conversion that changes the first element of a parameter, wherever the model has it.
Conversion with_wrong_parameter(const std::string& name) {
  return [name](Graph graph) -> Result<Bytes> {
    COT_ASSIGN(Bytes file, converted(std::move(graph)));
    COT_ASSIGN(const Model model, Model::load(std::move(file)));
    std::vector<float> parameters(model.parameters().begin(), model.parameters().end());
    for (const TensorInfo& tensor : model.graph().tensors) {
      if (tensor.name == name) parameters[tensor.payload_offset / sizeof(float)] += 0.01f;
    }
    return model.file_with(parameters);
  };
}

TEST(ConversionCheck, FindsAWrongWeightWhereItIs) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a.weight", "h"}, {"a.bias", "h"}, {"b.weight", "y"}};
  for (const auto& [parameter, tensor] : cases) {
    const Result<ConversionResult> result = checked(two_layers(), with_wrong_parameter(parameter));
    ASSERT_OK(result);
    EXPECT_FALSE(result->agrees) << parameter;
    EXPECT_EQ(result->first_tensor, tensor);
    EXPECT_GT(result->absolute, 1e-3);
  }
}

TEST(ConversionCheck, FindsAWrongAttributeWhereItIs) {
  const Result<ConversionResult> result = checked(two_layers(), [](Graph graph) {
    for (model_import::Node& node : graph.nodes) {
      if (node.op == "LeakyRelu") node.attributes["alpha"] = 0.2f;
    }
    return converted(std::move(graph));
  });
  ASSERT_OK(result);
  EXPECT_FALSE(result->agrees);
  EXPECT_EQ(result->first_tensor, "r");
  EXPECT_EQ(result->first_node, "node /r/LeakyRelu (LeakyRelu)");
}

TEST(ConversionCheck, FindsAnotherShape) {
  const Result<ConversionResult> result = checked(two_layers(), [](Graph graph) {
    auto& weight = graph.constants.at("b.weight").tensor;
    weight.shape = {4, 1};
    weight.reals.resize(4);
    return converted(std::move(graph));
  });
  ASSERT_OK(result);
  EXPECT_FALSE(result->agrees);
  EXPECT_EQ(result->first_tensor, "y");
}

TEST(ConversionCheck, SaysWhichOperatorIsUnknown) {
  Result<Bytes> file = converted(two_layers());
  ASSERT_OK(file);
  const Result<Model> model = Model::load(std::move(*file));
  ASSERT_OK(model);
  Graph graph = two_layers();
  graph.nodes[1].op = "Bernoulli";
  const Result<ConversionResult> result = check_conversion(graph, {}, *model, converted);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message().find("does not know operator Bernoulli"), std::string::npos)
      << result.error().message();
}

TEST(ConversionCheck, AnOutputWithoutNumbersIsUnverified) {
  test::OnnxBuild build;
  build.input("x", {0, 3}).weight("w", {3, 3}).node("Abs", {"x"}, "a").node("Neg", {"a"}, "n");
  build.node("Sqrt", {"n"}, "s").node("MatMul", {"s", "w"}, "y");
  const Result<ConversionResult> result = checked(build.sorted("y"), converted);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message().find("no finite number"), std::string::npos) << result.error().message();
}

TEST(RandomInputs, NameRowsThatEveryTableHas) {
  test::OnnxBuild build;
  build.input("x", {0, 50}, model_import::Element::integer).weight("small", {7, 2}).weight("large", {9, 2});
  build.node("Gather", {"small", "x"}, "s").node("Cast", {"x"}, "i", {{"to", int64_t{7}}});
  build.node("Gather", {"large", "i"}, "l").node("Add", {"s", "l"}, "y");
  const auto inputs = random_inputs(build.sorted("y"), {}, 4, 1, 1);
  ASSERT_OK(inputs);
  const auto& values = inputs->at("x").values;
  EXPECT_EQ(std::ranges::min(values), 0);
  EXPECT_EQ(std::ranges::max(values), 6);
}

TEST(RandomInputs, HaveTheBatchThatTheFileDeclares) {
  test::OnnxBuild build;
  build.input("x", {5, 2}).node("Neg", {"x"}, "y");
  EXPECT_EQ(declared_batch(build.sorted("y"), 2), 5);
  build.graph.inputs[0].shape[0].value = 0;
  EXPECT_EQ(declared_batch(build.sorted("y"), 2), 2);
}

}  // namespace
}  // namespace coterie
