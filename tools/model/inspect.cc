#include "tools/model/inspect.h"

#include <charconv>
#include <set>

#include "device_sdk/runtime/answer_shapes.h"

namespace coterie {
namespace {

constexpr size_t kRankMax = 8;

uint64_t elements_of(const Shape& shape) {
  const Result<uint64_t> count = element_count(shape);
  return count ? *count : 0;
}

}  // namespace

std::string shape_text(const Shape& shape) { return shape.empty() ? "scalar" : to_text(shape); }

Result<Shape> parse_shape(const std::string& text) {
  Shape shape;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    int64_t dimension = 0;
    const auto [next, error] = std::from_chars(at, end, dimension);
    const bool is_wrong =
        error != std::errc() || dimension < 1 || shape.size() == kRankMax || (next != end && *next != 'x');
    if (is_wrong)
      return Error(ErrorCode::invalid_argument, "a shape looks like 8x8x1 (height, width, channels), is " + text);
    shape.push_back(dimension);
    if (next == end) return shape;
    at = next + 1;
  }
}

namespace {

// The output of one example where the batch comes first, as nearly always.
std::string output_text(const Model& model, const OpInfo& op) {
  for (const uint32_t tensor : op.outputs) {
    if (tensor == kNoTensor) continue;
    Shape shape = model.shape(tensor);
    if (!shape.empty() && shape[0] == -1) shape.erase(shape.begin());
    return shape_text(shape);
  }
  return "";
}

// Names stand there where there are several.
std::string outputs_text(const Model& model) {
  const std::vector<ModelOutput> outputs = model_outputs(model);
  if (outputs.size() == 1) return shape_text(model.output_shape());
  std::string text;
  for (const ModelOutput& output : outputs) {
    text += (text.empty() ? "" : ", ") + output.name + " " + shape_text(output.shape);
  }
  return text;
}

}  // namespace

ModelReport inspect(const Model& model) {
  const ModelGraph& graph = model.graph();
  ModelReport report;
  report.name = graph.name;
  report.digest = model.digest().hex();
  report.input = shape_text(model.input_shape());
  report.output = outputs_text(model);
  report.file_bytes = model.file().size();
  report.flops = model.flops();
  std::set<uint32_t> counted;
  for (const OpInfo& op : graph.ops) {
    ModelLayer layer{op.name, std::string(to_string(op.kind)), output_text(model, op), 0};
    for (const uint32_t input : op.inputs) {
      if (input == kNoTensor || !has_payload(graph.tensors[input].role) || !counted.insert(input).second) continue;
      layer.parameters += elements_of(model.shape(input));
    }
    report.parameters += layer.parameters;
    report.layers.push_back(std::move(layer));
  }
  return report;
}

}  // namespace coterie
