#include "model_import/export/export_graph.h"

#include <algorithm>

#include "model_import/export/context.h"

namespace coterie::model_import {
namespace {

Exporter exporter_of(OpKind kind) {
  for (const auto family : {layer_exporter, elementwise_exporter, shape_exporter, recurrent_exporter}) {
    if (const Exporter exporter = family(kind)) return exporter;
  }
  return nullptr;
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words{""};
  for (const char c : text) {
    if (c == ',') words.emplace_back();
    else words.back() += c;
  }
  return words;
}

Dimension dimension_of(int64_t size) {
  if (size > 0) return {.value = size, .symbol = {}};
  return {.value = 0, .symbol = size == -1 ? "batch" : "batch_x_" + std::to_string(-size)};
}

GraphValue described(const std::string& name, const Shape& shape, DataType type) {
  GraphValue value{.name = name, .element = type == DataType::float32 ? Element::real : Element::integer, .shape = {}};
  for (const int64_t size : shape) value.shape.push_back(dimension_of(size));
  return value;
}

void define_inputs(ExportContext& context) {
  const ModelGraph& graph = context.model().graph();
  const auto layout = graph.properties.find("input_layout");
  const std::vector<std::string> words = split_words(layout == graph.properties.end() ? "" : layout->second);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const uint32_t input = graph.inputs[i];
    const bool is_image = i < words.size() && words[i] == "nhwc" && context.rank(input) == 4;
    const Order order = is_image ? kImageInOnnx : identity_order(context.rank(input));
    const std::string name = context.unique(graph.tensors[input].name);
    context.graph.inputs.push_back(described(name, permuted(context.shape(input), order), context.model().type(input)));
    context.define(input, name, order);
  }
}

void define_output(ExportContext& context) {
  const ModelGraph& graph = context.model().graph();
  const auto layout = graph.properties.find("output_layout");
  const bool is_image = layout != graph.properties.end() && layout->second == "nhwc" && context.rank(graph.output) == 4;
  const Order order = is_image ? kImageInOnnx : identity_order(context.rank(graph.output));
  context.current = nullptr;
  const std::string value = context.in_order(graph.output, order);
  context.node("Identity", {value}, {}, context.unique("output"));
  const std::string name = context.graph.nodes.back().outputs[0];
  context.graph.outputs.push_back(
      described(name, permuted(context.shape(graph.output), order), context.model().type(graph.output)));
}

}  // namespace

Result<Graph> export_graph(const Model& model, const ExportGrids* grids) {
  ExportContext context(model, grids);
  context.graph.name = model.graph().name.empty() ? "model" : model.graph().name;
  define_inputs(context);
  for (const OpInfo& op : model.graph().ops) {
    context.current = &op;
    const Exporter exporter = exporter_of(op.kind);
    if (exporter == nullptr)
      return Error(ErrorCode::internal, "op " + op.name + ": no exporter for " + std::string(to_string(op.kind)));
    COT_TRY(exporter(context, op));
  }
  define_output(context);
  return std::move(context.graph);
}

}  // namespace coterie::model_import
