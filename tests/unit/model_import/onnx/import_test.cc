// What an ONNX model becomes: ops, layout, names and roles; and what is refused.
#include "model_import/onnx/import_onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/unit/model_import/onnx/graphs.h"

namespace coterie {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(OnnxImport, ImagesStayNhwcUntilTheirOrderMatters) {
  OnnxBuild build;
  build.input("x", {0, 3, 8, 8}).weight("conv.weight", {4, 3, 3, 3}).weight("fc.weight", {10, 4 * 3 * 3});
  build.node("Conv", {"x", "conv.weight"}, "a").node("Relu", {"a"}, "b");
  build.node("MaxPool", {"b"}, "c",
             {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  build.node("Flatten", {"c"}, "d").node("Gemm", {"d", "fc.weight"}, "y", {{"transB", int64_t{1}}});
  const ModelGraph graph = build.imported("y");
  EXPECT_THAT(kinds_of(graph), ElementsAre(OpKind::conv2d, OpKind::relu, OpKind::max_pool2d, OpKind::transpose,
                                           OpKind::reshape, OpKind::dense));
  EXPECT_EQ(graph.properties.at("input_layout"), "nhwc");
  EXPECT_EQ(graph.tensors[graph.inputs[0]].shape, (Shape{8, 8, 3}));
  EXPECT_THAT(names_of(graph, TensorRole::parameter), ElementsAre("conv.weight", "fc.weight"));
}

TEST(OnnxImport, GlobalPoolingNeedsNoTranspose) {
  OnnxBuild build;
  build.input("x", {0, 3, 8, 8}).weight("w", {4, 3, 1, 1}).weight("fc", {10, 4});
  build.node("Conv", {"x", "w"}, "a").node("GlobalAveragePool", {"a"}, "b").node("Flatten", {"b"}, "c");
  build.node("Gemm", {"c", "fc"}, "y", {{"transB", int64_t{1}}});
  EXPECT_THAT(kinds_of(build.imported("y")), ElementsAre(OpKind::conv2d, OpKind::global_average_pool2d, OpKind::dense));
}

TEST(OnnxImport, WeightsAreOnlyPermuted) {
  OnnxBuild build;
  build.input("x", {0, 2}).weight("w", {3, 2}).node("Gemm", {"x", "w"}, "y", {{"transB", int64_t{1}}});
  const Result<model_import::ImportedModel> import = build.import("y");
  ASSERT_OK(import);
  const auto decoded = decode_model(import->model);
  ASSERT_OK(decoded);
  const auto values = payload_as<float>(decoded->payload).first(6);
  EXPECT_THAT(std::vector<float>(values.begin(), values.end()), ElementsAre(0.5f, 2.5f, 4.5f, 1.5f, 3.5f, 5.5f));
}

// Each output is what it is alone, under the name that the graph has for it; an image as the graph lays it out.
TEST(OnnxImport, BringsSeveralOutputsIfAsked) {
  OnnxBuild build;
  build.input("x", {0, 2, 4, 4}).weight("w", {3, 2, 3, 3}, -20).weight("fc", {5, 12}, -30);
  build.node("Conv", {"x", "w"}, "image").node("Relu", {"image"}, "r").node("Flatten", {"r"}, "f");
  build.node("Gemm", {"f", "fc"}, "y", {{"transB", int64_t{1}}}).node("Sigmoid", {"f"}, "odds");
  for (const char* name : {"y", "image", "odds"}) {
    build.graph.outputs.push_back({.name = name, .element = model_import::Element::real, .shape = {}});
  }
  const Bytes file = *model_import::write_onnx(build.graph);
  const auto import = [&](const model_import::ImportOptions& options) {
    Result<model_import::ImportedModel> imported = model_import::import_onnx(file, options);
    EXPECT_OK(imported);
    return *Model::load(std::move(imported->model));
  };
  std::vector<float> x(2 * 32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.01f * static_cast<float>(i % 7);
  const std::span<const float> inputs[] = {x};
  const auto answers_of = [&](const Model& model) {
    std::vector<std::vector<float>> answers;
    for (const ModelOutput& output : model_outputs(model)) answers.emplace_back(2 * elements(output.shape));
    const std::vector<std::span<float>> places(answers.begin(), answers.end());
    Result<Predictor> predictor = Predictor::create_of_all(model, 2);
    EXPECT_OK(predictor);
    EXPECT_OK(predictor->run(inputs, 2, places));
    return answers;
  };
  const Model all = import({.further_outputs = {"*"}});
  std::vector<std::string> names;
  for (const ModelOutput& output : model_outputs(all)) names.push_back(output.name);
  EXPECT_THAT(names, ElementsAre("y", "image", "odds"));
  const auto answers = answers_of(all);
  EXPECT_EQ(answers[0], answers_of(import({}))[0]);
  EXPECT_EQ(answers[2], answers_of(import({.output = "odds"}))[0]);
  EXPECT_EQ(model_outputs(all)[1].shape, (Shape{3, 2, 2}));
  const auto nhwc = answers_of(import({.output = "image"}))[0];
  for (size_t pixel = 0; pixel < 4; ++pixel) {
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ(answers[1][c * 4 + pixel], nhwc[pixel * 3 + c]) << pixel << " " << c;
  }
  EXPECT_EQ(model_outputs(import({.output = "odds", .further_outputs = {"y"}})).size(), 2u);
  EXPECT_ERROR(model_import::import_onnx(file, {.further_outputs = {"z*"}}), ErrorCode::invalid_argument,
               "no further output z*; it has image, odds");
}

TEST(OnnxImport, NamesThatTheExporterMadeUpBecomePyTorchs) {
  OnnxBuild build;
  build.input("x", {0, 5, 2}).weight("onnx::MatMul_7", {2, 3}).weight("b", {3});
  build.node("MatMul", {"x", "onnx::MatMul_7"}, "a").node("Add", {"b", "a"}, "y");
  build.graph.nodes[0].name = "/encoder/encoder.0/linear1/MatMul";
  const ModelGraph graph = build.imported("y");
  EXPECT_THAT(kinds_of(graph), ElementsAre(OpKind::dense));
  EXPECT_THAT(names_of(graph, TensorRole::parameter), ElementsAre("encoder.0.linear1.weight", "b"));
}

// Image networks from PyTorch carry (x - mean) / std as buffers, which a file cannot tell from weights.
TEST(OnnxImport, WhatNormalisesTheInputIsNotTrainedAndMasksAreNot) {
  OnnxBuild build;
  build.input("x", {0, 2}).weight("mean", {2}).weight("std", {2}).weight("w", {2, 2}).weight("mask", {2}, -2e4f);
  build.node("Sub", {"x", "mean"}, "a").node("Div", {"a", "std"}, "b").node("MatMul", {"b", "w"}, "c");
  build.node("Relu", {"c"}, "d").node("Add", {"d", "mask"}, "y");
  const ModelGraph graph = build.imported("y");
  EXPECT_THAT(names_of(graph, TensorRole::parameter), ElementsAre("w"));
  const auto import = build.import("y");
  ASSERT_OK(import);
  EXPECT_THAT(import->notes, Contains(HasSubstr("std (2) is not trained, because it stands beside the input")));
  const ModelGraph trained = build.imported("y", {.trainable = {"st?"}});
  EXPECT_THAT(names_of(trained, TensorRole::parameter), UnorderedElementsAre("std", "w"));
}

TEST(OnnxImport, EqualParametersThatTheExporterStoredOnceAreTrainedApart) {
  OnnxBuild build;
  build.input("x", {0, 2}).weight("a.weight", {2, 2}).node("Identity", {"a.weight"}, "b.weight");
  build.node("Gemm", {"x", "a.weight"}, "h").node("Gemm", {"h", "b.weight"}, "y");
  EXPECT_THAT(names_of(build.imported("y"), TensorRole::parameter), ElementsAre("a.weight", "b.weight"));
}

// Found by the fuzzer: the first operand with the batch is not the only one whose rank counts.
TEST(OnnxImport, RefusesToJoinValuesOfDifferentRank) {
  OnnxBuild build;
  build.input("x", {0, 4}).input("z", {0, 4, 1}).node("Concat", {"x", "z"}, "y", {{"axis", int64_t{1}}});
  EXPECT_ERROR(build.import("y"), ErrorCode::malformed, "operands of different rank");
}

TEST(OnnxImport, AWeightReadTwiceIsOneParameter) {
  OnnxBuild build;
  build.input("x", {0, 2})
      .weight("w", {2, 2})
      .node("Gemm", {"x", "w"}, "h")
      .node("Gemm", {"h", "w"}, "y", {{"transB", int64_t{1}}});
  EXPECT_THAT(names_of(build.imported("y"), TensorRole::parameter), ElementsAre("w"));
}

TEST(OnnxImport, AReshapeThatFixesTheBatchFitsEveryBatch) {
  OnnxBuild build;
  build.input("x", {4, 6, 5}).integers("to", {4, 3, 10}).node("Reshape", {"x", "to"}, "a").node("Relu", {"a"}, "y");
  const ModelGraph graph = build.imported("y");
  ASSERT_EQ(graph.ops[0].kind, OpKind::reshape);
  EXPECT_EQ(std::get<ShapeAttributes>(graph.ops[0].attributes).shape, (Shape{-1, 3, 10}));
}

TEST(OnnxImport, NamesEveryUnknownOperatorAtOnce) {
  OnnxBuild build;
  build.input("x", {0, 4}).node("TopK", {"x"}, "a").node("com.acme.Magic", {"a"}, "b").node("Einsum", {"b"}, "y");
  const Result<model_import::ImportedModel> import = build.import("y");
  ASSERT_ERROR(import, ErrorCode::invalid_argument,
               "Einsum (/y/Einsum; instead: write it as Transpose, Reshape and MatMul)");
  EXPECT_THAT(import.error().message(), HasSubstr("TopK"));
  EXPECT_THAT(import.error().message(), HasSubstr("com.acme.Magic"));
}

// What patterns make of a graph has no form that a file could give.
TEST(OnnxImport, OperatorsThatPatternsMakeAreNoneOfAFile) {
  OnnxBuild build;
  build.input("x", {0, 4}).node("coterie.Gelu", {"x"}, "y");
  EXPECT_ERROR(build.import("y"), ErrorCode::invalid_argument, "operators that are not supported: coterie.Gelu");
}

TEST(OnnxImport, AsksForOpenDimensionsAndTakesThem) {
  OnnxBuild build;
  build.input("x", {0, 0, 4}).node("Relu", {"x"}, "y");
  EXPECT_ERROR(build.import("y"), ErrorCode::invalid_argument, "--dim name=size): open");
  const ModelGraph graph = build.imported("y", {.dimensions = {{"open", 7}}, .output = {}});
  EXPECT_EQ(graph.tensors[graph.inputs[0]].shape, (Shape{7, 4}));
}

TEST(OnnxImport, RefusesWhatMixesTheExamplesOfABatch) {
  OnnxBuild build;
  build.input("x", {0, 4}).node("ReduceMean", {"x"}, "y", {{"axes", std::vector<int64_t>{0}}});
  EXPECT_ERROR(build.import("y"), ErrorCode::invalid_argument, "reduces over the batch");
}

TEST(OnnxImport, AScaledGemmAddsItsBiasApart) {
  OnnxBuild build;
  build.input("x", {0, 3, 2});
  build.node("Gather", {"x", "zero"}, "row", {{"axis", int64_t{1}}})
      .integers("zero", {0})
      .node("Flatten", {"row"}, "a");
  build.weight("w", {2, 2})
      .node("Gemm", {"a", "w"}, "b", {{"alpha", 2.0f}})
      .weight("d", {2})
      .node("Gemm", {"b", "w", "d"}, "y", {{"alpha", 0.5f}});
  EXPECT_THAT(kinds_of(build.imported("y")), testing::Contains(OpKind::add));
}

TEST(OnnxImport, LeavesOutWhatTheOutputDoesNotNeed) {
  OnnxBuild build;
  build.input("x", {0, 4}).node("Relu", {"x"}, "y").node("TopK", {"x"}, "unused");
  EXPECT_THAT(kinds_of(build.imported("y")), ElementsAre(OpKind::relu));
}

// A table of sines and cosines, as the tutorials make them.
model_import::HostTensor sinusoids(size_t positions, size_t features, bool is_split) {
  model_import::HostTensor table;
  table.shape = {1, static_cast<int64_t>(positions), static_cast<int64_t>(features)};
  for (size_t t = 0; t < positions; ++t) {
    for (size_t i = 0; i < features; ++i) {
      const size_t pair = is_split ? i % (features / 2) : i / 2;
      const bool is_sine = is_split ? i < features / 2 : i % 2 == 0;
      const double angle =
          static_cast<double>(t) * std::pow(10000, -2 * static_cast<double>(pair) / static_cast<double>(features));
      table.reals.push_back(static_cast<float>(is_sine ? std::sin(angle) : std::cos(angle)));
    }
  }
  return table;
}

TEST(OnnxImport, TablesOfSinesAndCosinesAreNotTrained) {
  for (const size_t positions : {8u, 64u, 2000u}) {
    for (const bool is_split : {false, true}) {
      OnnxBuild build;
      build.input("x", {0, static_cast<int64_t>(positions), 16}).weight("w", {16, 16});
      build.graph.constants["pe"] = {sinusoids(positions, 16, is_split), false};
      build.node("MatMul", {"x", "w"}, "a").node("Add", {"a", "pe"}, "b").node("Mul", {"b", "pe"}, "y");
      EXPECT_THAT(names_of(build.imported("y"), TensorRole::parameter), ElementsAre("w"));
      const auto import = build.import("y");
      ASSERT_OK(import);
      const std::string shape = "pe (1x" + std::to_string(positions) + "x16)";
      EXPECT_THAT(import->notes, ElementsAre(HasSubstr(shape + " is not trained, because it holds sines")));
    }
  }
}

TEST(OnnxImport, LearnedTablesOfPositionsAreTrained) {
  Prng prng(5);
  for (const double size : {1.0, 0.02, 1e-4, 0.0}) {
    OnnxBuild build;
    build.input("x", {0, 8, 16}).weight("w", {16, 16});
    model_import::HostTensor table;
    table.shape = {1, 8, 16};
    for (int i = 0; i < 128; ++i) table.reals.push_back(static_cast<float>(prng.uniform(-size, size)));
    build.graph.constants["pos_embed"] = {std::move(table), false};
    build.node("MatMul", {"x", "w"}, "a").node("Add", {"a", "pos_embed"}, "y");
    EXPECT_THAT(names_of(build.imported("y"), TensorRole::parameter), UnorderedElementsAre("w", "pos_embed"));
  }
}

TEST(OnnxImport, TellsOfEachTrainedTableWhyAndTakesPatterns) {
  OnnxBuild build;
  build.input("x", {0, 4}).weight("fc.weight", {4, 4}).weight("scale", {4}).weight("fc.bias", {4});
  build.node("Gemm", {"x", "fc.weight", "fc.bias"}, "a").node("Mul", {"a", "scale"}, "y");
  const auto import = build.import("y");
  ASSERT_OK(import);
  EXPECT_THAT(import->notes, ElementsAre("scale (4) is trained, though it is no layer's weight (--constant keeps it): "
                                         "node /y/Mul (Mul) reads it"));
  EXPECT_THAT(import->roles, Contains(HasSubstr("fc.weight (4x4) is trained, as the weight")));
  EXPECT_EQ(import->roles.size(), 3u);
  const ModelGraph fixed = build.imported("y", {.constant = {"scale", "*.bias"}});
  EXPECT_THAT(names_of(fixed, TensorRole::parameter), ElementsAre("fc.weight"));
  EXPECT_ERROR(build.import("y", {.constant = {"nothing*"}}), ErrorCode::invalid_argument,
               "--constant nothing* matches no table");
  const auto meant = build.import("y", {.trainable = {"scale"}});
  ASSERT_OK(meant);
  EXPECT_THAT(meant->notes, IsEmpty());
}

// PyTorch writes GroupNorm as InstanceNormalization with ones and zeros of a Constant node, and the weights behind it.
TEST(OnnxImport, OnesAndZerosOfAConstantNodeAreNoWeightsOfANorm) {
  OnnxBuild build;
  build.input("x", {0, 4, 6, 6}).weight("conv", {4, 4, 1, 1}).weight("gn.weight", {4, 1, 1});
  build.weight("gn.bias", {4, 1, 1});
  for (const auto& [name, value] : {std::pair("ones", 1.0f), std::pair("zeros", 0.0f)}) {
    model_import::HostTensor tensor;
    tensor.shape = {4};
    tensor.reals.assign(4, value);
    build.graph.constants[name] = {std::move(tensor), true};
  }
  build.node("Conv", {"x", "conv"}, "c").node("InstanceNormalization", {"c", "ones", "zeros"}, "n");
  build.node("Mul", {"n", "gn.weight"}, "m").node("Add", {"m", "gn.bias"}, "y");
  const Result<model_import::ImportedModel> import = model_import::import_graph(build.sorted("y"));
  ASSERT_OK(import);
  const auto decoded = decode_model(import->model);
  ASSERT_OK(decoded);
  EXPECT_THAT(names_of(decoded->header, TensorRole::parameter), UnorderedElementsAre("conv", "gn.weight", "gn.bias"));
  EXPECT_OK(Model::load(import->model));
}

}  // namespace
}  // namespace coterie
