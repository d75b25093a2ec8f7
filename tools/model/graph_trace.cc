#include "tools/model/graph_trace.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "model_import/convert/context.h"
#include "model_import/convert/permitted_name.h"
#include "model_import/interpret/observe.h"
#include "tools/compare_tensors/parameter_notes.h"

namespace coterie {
namespace {

using model_import::Array;
using model_import::Attribute;
using model_import::Form;
using model_import::Graph;
using model_import::GraphValue;
using model_import::HostTensor;
using model_import::Node;

class Tracer {
 public:
  explicit Tracer(const Graph& graph) {
    for (const GraphValue& input : graph.inputs) {
      add({.name = input.name, .layer = {}, .kind = "input", .reads = {}}, nullptr);
    }
    made_.trace.inputs = static_cast<uint32_t>(graph.inputs.size());
  }

  Status see(const Node& node, size_t output, const Array& value) {
    TracedTensor tensor{.name = node.outputs[output], .layer = {}, .kind = node.op, .reads = {}};
    if (output == 0) tensor.layer = model_import::permitted_name(model_import::name_of(node));
    for (const std::string& name : node.inputs) add_read(name, tensor.reads);
    for (const std::string& name : node.captures) add_read(name, tensor.reads);
    if (value.form == Form::tensor) {
      bytes_ += value.values.size() * sizeof(float);
      if (bytes_ > kTracedBytesMax) {
        return Error(ErrorCode::too_large, "the values of all nodes have more than 1 GiB; give it fewer examples");
      }
      tensor.shape = value.shape;
      tensor.has_numbers = true;
      for (const double number : value.values) tensor.values.push_back(static_cast<float>(number));
    }
    add(std::move(tensor), &node);
    return {};
  }

  GraphTrace finish(const Graph& graph) {
    for (const GraphValue& output : graph.outputs) add_read(output.name, made_.trace.outputs);
    return std::move(made_);
  }

 private:
  void add(TracedTensor tensor, const Node* node) {
    places_[tensor.name] = static_cast<uint32_t>(made_.trace.tensors.size());
    made_.trace.tensors.push_back(std::move(tensor));
    made_.nodes.push_back(node);
  }
  // Constants have no place.
  void add_read(const std::string& name, std::vector<uint32_t>& reads) const {
    const auto place = places_.find(name);
    if (place == places_.end() || std::ranges::find(reads, place->second) != reads.end()) return;
    reads.push_back(place->second);
  }

  GraphTrace made_;
  std::map<std::string, uint32_t> places_;
  uint64_t bytes_ = 0;
};

std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

// Empty: of a kind that is not shown, such as a body.
std::string text_of(const Attribute& attribute) {
  const auto list_of = [](const auto& numbers) {
    std::string text;
    for (const auto number : numbers) text += (text.empty() ? "" : ",") + text_of(static_cast<double>(number));
    return text;
  };
  if (const auto* real = std::get_if<float>(&attribute)) return text_of(static_cast<double>(*real));
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return std::to_string(*integer);
  if (const auto* text = std::get_if<std::string>(&attribute)) return *text;
  if (const auto* reals = std::get_if<std::vector<float>>(&attribute)) return list_of(*reals);
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute)) return list_of(*integers);
  return "";
}

std::string text_of(const Node& node, const std::string& key) {
  const auto found = node.attributes.find(key);
  return found == node.attributes.end() ? "not given" : text_of(found->second);
}

// A table of floats; null: it is none.
const HostTensor* table_of(const Graph& graph, const Node& node, size_t i) {
  if (!node.has_input(i)) return nullptr;
  const auto found = graph.constants.find(node.inputs[i]);
  if (found == graph.constants.end()) return nullptr;
  const HostTensor& tensor = found->second.tensor;
  return tensor.element == model_import::Element::real && !tensor.is_uniform ? &tensor : nullptr;
}

}  // namespace

Result<GraphTrace> trace_of(const Graph& graph, const model_import::Arrays& inputs) {
  Tracer tracer(graph);
  COT_TRY(model_import::interpret_observed(
      graph, inputs, model_import::Intent::stored_prediction,
      [&](const Node& node, size_t output, const Array& value) { return tracer.see(node, output, value); }));
  return tracer.finish(graph);
}

std::vector<std::string> node_notes(const Graph& a, const Node& of_a, const Graph& b, const Node& of_b,
                                    double tolerance) {
  std::vector<std::string> notes;
  if (of_a.op != of_b.op) return {of_a.op + " in one, " + of_b.op + " in the other"};
  std::set<std::string> keys;
  for (const Node* node : {&of_a, &of_b}) {
    for (const auto& [key, attribute] : node->attributes) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const std::string mine = text_of(of_a, key), theirs = text_of(of_b, key);
    if (mine != theirs) notes.push_back(key + ": " + mine + " and " + theirs);
  }
  if (of_a.inputs.size() != of_b.inputs.size()) notes.emplace_back("operands: not as many");
  for (size_t i = 0; i < std::min(of_a.inputs.size(), of_b.inputs.size()); ++i) {
    const HostTensor *mine = table_of(a, of_a, i), *theirs = table_of(b, of_b, i);
    if (mine == nullptr || theirs == nullptr) continue;
    const std::string note = weight_note(mine->reals, mine->shape, theirs->reals, theirs->shape, tolerance);
    if (!note.empty()) notes.push_back(of_a.inputs[i] + ": " + note);
  }
  return notes;
}

}  // namespace coterie
