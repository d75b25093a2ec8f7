#include "model_import/quantised/qdq.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "model_import/graph/node_error.h"

namespace coterie::model_import {
namespace {

constexpr const char* kQuantise = "QuantizeLinear";
constexpr const char* kDequantise = "DequantizeLinear";
constexpr int kWeightMin = -127;

// What a node's second and third operand say.
struct Places {
  std::vector<float> scales;
  std::vector<int64_t> zeros;
  Width width = Width::uint8;
};

// A name that a parameter keeps: neither in signs that a model file has not, nor one that looks made up.
std::string lasting_name(const std::string& name) {
  std::string lasting;
  for (const char c : name) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    lasting += is_plain ? c : '_';
  }
  const bool is_named = !lasting.empty() && !(lasting[0] >= '0' && lasting[0] <= '9') && lasting[0] != '_';
  return is_named ? lasting : "table" + lasting;
}

class Taking {
 public:
  explicit Taking(Graph graph) { out_.graph = std::move(graph); }

  Result<QdqGraph> run() {
    for (const Node& node : out_.graph.nodes) {
      for (const std::string& input : node.inputs) readers_[input].push_back(&node);
    }
    for (const GraphValue& output : out_.graph.outputs) outputs_.insert(output.name);
    for (const Node& node : out_.graph.nodes) {
      if (node.op == kQuantise) COT_TRY(quantise(node));
      else if (node.op == kDequantise) COT_TRY(dequantise(node));
    }
    leave_out();
    return std::move(out_);
  }

 private:
  // A quantised activation, or a table that is still integers.
  struct Integers {
    std::string source;  // activation: the value before QuantizeLinear
    Places places;
  };

  Result<Places> places_of(const Node& node) {
    if (node.inputs.size() < 2 || node.outputs.size() != 1) {
      return Error(ErrorCode::malformed, node.what() + ": it needs a value and a scale, and has one output");
    }
    if (node.integer("block_size", 0) != 0) return unsupported(node, "its scales are by blocks");
    Places places;
    const auto scale = out_.graph.constants.find(node.inputs[1]);
    if (scale == out_.graph.constants.end() || scale->second.tensor.element != Element::real) {
      return unsupported(node, "its scale is no constant of floats");
    }
    places.scales = scale->second.tensor.reals;
    if (places.scales.empty()) return unsupported(node, "its scale has no elements");
    places.zeros.assign(places.scales.size(), 0);
    for (const float each : places.scales) {
      if (!(std::isfinite(each) && each > 0)) return unsupported(node, "a scale is not above 0");
    }
    if (!node.has_input(2)) return places;
    const auto zero = out_.graph.constants.find(node.inputs[2]);
    if (zero == out_.graph.constants.end() || zero->second.tensor.element != Element::integer ||
        zero->second.tensor.integers.size() != places.scales.size()) {
      return unsupported(node, "its zero point is no constant of as many integers as there are scales");
    }
    places.width = zero->second.tensor.width;
    for (size_t i = 0; i < places.zeros.size(); ++i) {
      places.zeros[i] = zero->second.tensor.integers[i].value;
      if (places.zeros[i] < INT32_MIN || places.zeros[i] > INT32_MAX) {
        return unsupported(node, "a zero point leaves 32 bits");
      }
    }
    return places;
  }

  Status quantise(const Node& node) {
    COT_ASSIGN(const Places places, places_of(node));
    if (places.width != Width::int8 && places.width != Width::uint8) {
      return unsupported(node, "only grids of int8 and uint8 can be computed");
    }
    const std::string& source = node.inputs[0];
    if (outputs_.contains(node.outputs[0])) return unsupported(node, "the model's output would be integers");
    if (const auto constant = out_.graph.constants.find(source); constant != out_.graph.constants.end()) {
      return round_table(node, places, constant->second.tensor);
    }
    if (places.scales.size() != 1) return unsupported(node, "a value of the network has a grid by channel");
    const auto zero = static_cast<int64_t>(places.zeros[0]) - (places.width == Width::uint8 ? 128 : 0);
    if (zero < -128 || zero > 127) return unsupported(node, "its zero point is outside of its type");
    for (const Node* reader : readers_[source]) {
      if (reader->op != kQuantise) {
        return unsupported(node,
                           "the value " + source + " is read on the grid here, and as it is by " + reader->what());
      }
    }
    if (outputs_.contains(source)) return unsupported(node, "the value " + source + " is the model's output, too");
    const QdqGrid grid{places.scales[0], static_cast<int8_t>(zero)};
    const auto [held, is_new] = out_.grids.emplace(source, grid);
    if (!is_new && held->second != grid) return unsupported(node, "the value " + source + " has two grids");
    integers_[node.outputs[0]] = {source, places};
    return {};
  }

  // Floats that the graph itself rounds: what PyTorch writes for weights.
  Status round_table(const Node& node, const Places& places, const HostTensor& table) {
    if (table.element != Element::real || table.is_uniform) return unsupported(node, "it rounds no table of floats");
    HostTensor rounded = table;
    rounded.element = Element::integer;
    rounded.width = places.width;
    rounded.reals.clear();
    COT_ASSIGN(const std::vector<size_t> place, place_of_each(node, places, table.shape, table.reals.size()));
    const double low = places.width == Width::int8 ? -128 : 0, high = places.width == Width::int8 ? 127 : 255;
    for (size_t i = 0; i < table.reals.size(); ++i) {
      const auto zero = static_cast<double>(places.zeros[place[i]]);
      const auto steps = static_cast<double>(std::nearbyint(table.reals[i] / places.scales[place[i]]));
      if (std::isnan(steps)) return unsupported(node, "the table " + node.inputs[0] + " holds what is no number");
      rounded.integers.push_back({static_cast<int64_t>(std::clamp(steps + zero, low, high)), false});
    }
    const std::string& name = node.outputs[0];
    named_[name] = node.inputs[0];
    out_.graph.constants[name] = {std::move(rounded), false};
    return {};
  }

  static Result<std::vector<size_t>> place_of_each(const Node& node, const Places& places, const Shape& shape,
                                                   size_t count) {
    std::vector<size_t> place(count);
    if (places.scales.size() == 1) return place;
    const auto rank = static_cast<int64_t>(shape.size());
    int64_t axis = node.integer("axis", 1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || shape[static_cast<size_t>(axis)] != static_cast<int64_t>(places.scales.size())) {
      return unsupported(node, "its scales do not fit its axis");
    }
    size_t inner = 1;
    for (auto i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) inner *= static_cast<size_t>(shape[i]);
    for (size_t i = 0; i < count; ++i) place[i] = i / inner % places.scales.size();
    return place;
  }

  Status dequantise(const Node& node) {
    COT_ASSIGN(const Places places, places_of(node));
    const std::string& from = node.inputs[0];
    if (const auto held = integers_.find(from); held != integers_.end()) {
      const Places& other = held->second.places;
      if (other.scales != places.scales || other.zeros != places.zeros ||
          (node.has_input(2) && other.width != places.width)) {
        return unsupported(node, "it has another grid than the QuantizeLinear before it");
      }
      renamed_[node.outputs[0]] = held->second.source;
      return {};
    }
    const auto constant = out_.graph.constants.find(from);
    if (constant == out_.graph.constants.end()) return unsupported(node, "its integers come from no QuantizeLinear");
    return take_table(node, places, constant->second.tensor);
  }

  Status take_table(const Node& node, const Places& places, const HostTensor& integers) {
    if (integers.element != Element::integer || integers.width == Width::any || integers.is_uniform) {
      return unsupported(node, "its integers are of another width than int8, uint8 and int32");
    }
    // ONNX wants one type for both; it bounds both, too.
    if (node.has_input(2) && places.width != integers.width) {
      return unsupported(node, "its zero point is of another type than its integers");
    }
    const std::string& held = named_.contains(node.inputs[0]) ? named_[node.inputs[0]] : node.inputs[0];
    const std::string name = lasting_name(held);
    const bool is_taken = name != held && out_.graph.constants.contains(name);
    if (is_taken || out_.tables.contains(name))
      return unsupported(node, "the table " + name + " exists or is read twice");
    COT_ASSIGN(const std::vector<size_t> place, place_of_each(node, places, integers.shape, integers.integers.size()));
    QdqTable table{.scales = places.scales, .values = {}, .is_bias = integers.width == Width::int32};
    HostTensor real;
    real.shape = integers.shape;
    for (size_t i = 0; i < place.size(); ++i) {
      const int64_t value = integers.integers[i].value - places.zeros[place[i]];
      if (!table.is_bias && (value < kWeightMin || value > 127)) {
        return unsupported(
            node, "the table " + name + " holds " + std::to_string(value) + " steps: weights are within -127 to 127");
      }
      if (value < INT32_MIN || value > INT32_MAX) return unsupported(node, "the table " + name + " leaves 32 bits");
      table.values.push_back(static_cast<int32_t>(value));
      real.reals.push_back(places.scales[place[i]] * static_cast<float>(value));
    }
    real_[name] = std::move(real);
    renamed_[node.outputs[0]] = name;
    out_.tables[name] = std::move(table);
    return {};
  }

  void leave_out() {
    std::erase_if(out_.graph.nodes, [](const Node& node) { return node.op == kQuantise || node.op == kDequantise; });
    for (auto& [name, real] : real_) out_.graph.constants[name] = {std::move(real), false};
    for (Node& node : out_.graph.nodes) {
      for (std::string& input : node.inputs) {
        if (const auto to = renamed_.find(input); to != renamed_.end()) input = to->second;
      }
    }
    // The output keeps its name.
    for (const GraphValue& output : out_.graph.outputs) {
      const auto to = renamed_.find(output.name);
      if (to == renamed_.end()) continue;
      out_.graph.nodes.push_back(
          {.op = "Identity", .name = output.name, .inputs = {to->second}, .outputs = {output.name}, .attributes = {}});
    }
  }

  QdqGraph out_;
  std::map<std::string, std::vector<const Node*>> readers_;
  std::set<std::string> outputs_;
  std::map<std::string, Integers> integers_;    // what QuantizeLinear wrote
  std::map<std::string, std::string> renamed_;  // what DequantizeLinear wrote: the value that is read instead
  std::map<std::string, std::string> named_;    // a table that the graph rounds: the floats' name
  std::map<std::string, HostTensor> real_;      // what becomes of tables, once all are taken
};

}  // namespace

bool has_qdq(const Graph& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const Node& node) { return node.op == kQuantise || node.op == kDequantise; });
}

Result<QdqGraph> take_qdq(Graph graph) { return Taking(std::move(graph)).run(); }

}  // namespace coterie::model_import
