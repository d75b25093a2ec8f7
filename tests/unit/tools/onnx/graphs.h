// ONNX models made in a test, from plain structs.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "proto/codec/codec.h"
#include "tests/support/matchers.h"
#include "tools/onnx/import.h"
#include "tools/onnx/onnx_graph.h"
#include "tools/onnx/write_onnx.h"

namespace coterie::test {

struct OnnxBuild {
  onnx::Graph graph;

  OnnxBuild() { graph.name = "test"; }
  // 0: the batch, or a dimension named "open".
  OnnxBuild& input(const std::string& name, const Shape& shape, onnx::Element element = onnx::Element::real) {
    onnx::GraphValue value{.name = name, .element = element, .shape = {}};
    for (size_t i = 0; i < shape.size(); ++i)
      value.shape.push_back({shape[i], shape[i] != 0 ? "" : i == 0 ? "batch" : "open"});
    graph.inputs.push_back(std::move(value));
    return *this;
  }
  OnnxBuild& weight(const std::string& name, const Shape& shape, float first = 0.5f) {
    onnx::HostTensor tensor;
    tensor.shape = shape;
    size_t count = 1;
    for (const int64_t dimension : shape) count *= static_cast<size_t>(dimension);
    for (size_t i = 0; i < count; ++i) tensor.reals.push_back(first + static_cast<float>(i));
    graph.constants[name] = {std::move(tensor), false};
    return *this;
  }
  OnnxBuild& integers(const std::string& name, const std::vector<int64_t>& values) {
    std::vector<onnx::Integer> list;
    for (const int64_t value : values) list.push_back({value, false});
    graph.constants[name] = {onnx::host_integers(std::move(list)), false};
    return *this;
  }
  OnnxBuild& node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
                  std::map<std::string, onnx::Attribute> attributes = {}) {
    graph.nodes.push_back({.op = op,
                           .name = "/" + output + "/" + op,
                           .inputs = std::move(inputs),
                           .outputs = {output},
                           .attributes = std::move(attributes)});
    return *this;
  }
  Bytes bytes(const std::string& output) {
    graph.outputs = {{.name = output, .element = onnx::Element::real, .shape = {}}};
    Result<Bytes> file = onnx::write_onnx(graph);
    EXPECT_OK(file);
    return *file;
  }
  Result<OnnxImport> import(const std::string& output, const OnnxImportOptions& options = {}) {
    return import_onnx(bytes(output), options);
  }
  ModelGraph imported(const std::string& output, const OnnxImportOptions& options = {}) {
    const Result<OnnxImport> result = import(output, options);
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
