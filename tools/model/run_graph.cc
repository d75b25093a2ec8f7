#include "tools/model/run_graph.h"

#include <set>

#include "base/text/suggest.h"
#include "model_import/onnx/read_onnx.h"

namespace coterie {
namespace {

using model_import::Array;
using model_import::Form;
using model_import::GraphValue;

Status check_declared(const GraphValue& declared, const Array& given) {
  if (given.form != declared.form)
    return Error(ErrorCode::invalid_argument, "is of another form than the graph declares");
  if (declared.form != Form::tensor) return {};
  if (given.element != declared.element)
    return Error(ErrorCode::invalid_argument, "is of another type than the graph declares");
  if (declared.shape.empty()) return {};  // a scalar, or not said
  if (given.rank() != declared.shape.size()) {
    return Error(ErrorCode::invalid_argument, "has " + std::to_string(given.rank()) +
                                                  " dimensions, the graph declares " +
                                                  std::to_string(declared.shape.size()));
  }
  for (size_t i = 0; i < given.rank(); ++i) {
    const int64_t size = declared.shape[i].value;
    if (size == 0 || size == given.shape[i]) continue;
    return Error(ErrorCode::invalid_argument, "has " + std::to_string(given.shape[i]) + " in dimension " +
                                                  std::to_string(i) + ", the graph declares " + std::to_string(size));
  }
  return {};
}

Result<Array> input_of(const GraphValue& declared, ByteView file) {
  COT_ASSIGN(const model_import::HostValue value, model_import::read_onnx_value(file, declared.form));
  COT_ASSIGN(Array array, model_import::array_of(value));
  COT_TRY(check_declared(declared, array));
  return array;
}

}  // namespace

Result<GraphOutputs> run_graph(const model_import::Graph& graph, const std::vector<Bytes>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    std::vector<std::string> names;
    for (const GraphValue& input : graph.inputs) names.push_back(input.name);
    return Error(ErrorCode::invalid_argument,
                 "the graph takes one file for each input, in this order: " + (names.empty() ? "none" : listed(names)) +
                     "; files given: " + std::to_string(inputs.size()));
  }
  model_import::Arrays values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Result<Array> input = input_of(graph.inputs[i], inputs[i]);
    if (!input) return input.error().with_context("input " + graph.inputs[i].name);
    values[graph.inputs[i].name] = std::move(*input);
  }
  std::set<std::string> wanted;
  for (const GraphValue& output : graph.outputs) wanted.insert(output.name);
  COT_ASSIGN(const model_import::Arrays computed,
             model_import::interpret(graph, values, wanted, model_import::Intent::specification));
  GraphOutputs outputs;
  for (const GraphValue& output : graph.outputs) outputs.emplace_back(output.name, computed.at(output.name));
  return outputs;
}

}  // namespace coterie
