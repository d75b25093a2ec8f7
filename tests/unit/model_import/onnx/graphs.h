// ONNX models made in a test, from plain structs.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "model_import/graph/graph.h"
#include "model_import/onnx/import_onnx.h"
#include "model_import/onnx/write_onnx.h"
#include "proto/codec/codec.h"
#include "tests/support/matchers.h"

namespace coterie::test {

struct OnnxBuild {
  model_import::Graph graph;

  OnnxBuild() { graph.name = "test"; }
  // 0: the batch, or a dimension named "open".
  OnnxBuild& input(const std::string& name, const Shape& shape,
                   model_import::Element element = model_import::Element::real) {
    model_import::GraphValue value{.name = name, .element = element, .shape = {}};
    for (size_t i = 0; i < shape.size(); ++i)
      value.shape.push_back({shape[i], shape[i] != 0 ? "" : i == 0 ? "batch" : "open"});
    graph.inputs.push_back(std::move(value));
    return *this;
  }
  OnnxBuild& weight(const std::string& name, const Shape& shape, float first = 0.5f) {
    model_import::HostTensor tensor;
    tensor.shape = shape;
    size_t count = 1;
    for (const int64_t dimension : shape) count *= static_cast<size_t>(dimension);
    for (size_t i = 0; i < count; ++i) tensor.reals.push_back(first + static_cast<float>(i));
    graph.constants[name] = {std::move(tensor), false};
    return *this;
  }
  OnnxBuild& integers(const std::string& name, const std::vector<int64_t>& values) {
    std::vector<model_import::Integer> list;
    for (const int64_t value : values) list.push_back({value, false});
    graph.constants[name] = {model_import::host_integers(std::move(list)), false};
    return *this;
  }
  OnnxBuild& node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
                  std::map<std::string, model_import::Attribute> attributes = {}) {
    graph.nodes.push_back({.op = op,
                           .name = "/" + output + "/" + op,
                           .inputs = std::move(inputs),
                           .outputs = {output},
                           .attributes = std::move(attributes)});
    return *this;
  }
  // The graph itself, where a file would lose what the test is about: which constants are a Constant node's.
  model_import::Graph sorted(const std::string& output) {
    graph.outputs = {{.name = output, .element = model_import::Element::real, .shape = {}}};
    model_import::Graph copy = graph;
    EXPECT_OK(model_import::sort_nodes(copy));
    return copy;
  }
  Bytes bytes(const std::string& output) {
    graph.outputs = {{.name = output, .element = model_import::Element::real, .shape = {}}};
    Result<Bytes> file = model_import::write_onnx(graph);
    EXPECT_OK(file);
    return *file;
  }
  Result<model_import::ImportedModel> import(const std::string& output,
                                             const model_import::ImportOptions& options = {}) {
    return model_import::import_onnx(bytes(output), options);
  }
  ModelGraph imported(const std::string& output, const model_import::ImportOptions& options = {}) {
    const Result<model_import::ImportedModel> result = import(output, options);
    EXPECT_OK(result);
    const auto decoded = decode_model(result->model);
    EXPECT_OK(decoded);
    return decoded->header;
  }
};

inline std::vector<OpKind> kinds_of(const ModelGraph& graph) {
  std::vector<OpKind> kinds;
  for (const OpInfo& op : graph.ops) kinds.push_back(op.kind);
  return kinds;
}

inline std::vector<std::string> names_of(const ModelGraph& graph, TensorRole role) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : graph.tensors) {
    if (tensor.role == role) names.push_back(tensor.name);
  }
  return names;
}

}  // namespace coterie::test
