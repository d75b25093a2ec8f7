#include "tools/model/random_inputs.h"

#include <algorithm>
#include <set>

#include "base/random.h"

namespace coterie {
namespace {

using model_import::Array;
using model_import::Arrays;
using model_import::Element;
using model_import::Graph;
using model_import::GraphValue;
using model_import::Node;

// How many rows the table has that a Gather looks up, where it is a constant; 0: unknown.
int64_t rows_of(const Graph& graph, const Node& gather) {
  const auto table = graph.constants.find(gather.inputs[0]);
  if (table == graph.constants.end()) return 0;
  const Shape& shape = table->second.tensor.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t given = gather.integer("axis", 0), axis = given < 0 ? given + rank : given;
  return axis >= 0 && axis < rank ? shape[static_cast<size_t>(axis)] : 0;
}

// One more than the largest index that every table has which the input is looked up in.
int64_t index_bound(const Graph& graph, const std::string& input) {
  static const std::set<std::string> carriers = {"Identity", "Cast",      "Reshape", "Squeeze", "Unsqueeze", "Flatten",
                                                 "Slice",    "Transpose", "Split",   "Concat",  "Expand",    "Tile"};
  std::set<std::string> reached{input};
  int64_t bound = 0;
  for (const Node& node : graph.nodes) {
    const bool reads =
        std::ranges::any_of(node.inputs, [&](const std::string& name) { return reached.contains(name); });
    if (!reads) continue;
    if (carriers.contains(node.op)) reached.insert(node.outputs.begin(), node.outputs.end());
    if (node.op != "Gather" || node.inputs.size() < 2 || !reached.contains(node.inputs[1])) continue;
    const int64_t rows = rows_of(graph, node);
    if (rows > 0) bound = bound == 0 ? rows : std::min(bound, rows);
  }
  return bound == 0 ? 2 : bound;
}

}  // namespace

int64_t declared_batch(const Graph& graph, int64_t absent) {
  for (const GraphValue& input : graph.inputs) {
    if (!input.shape.empty() && input.shape[0].value > 0) return input.shape[0].value;
  }
  return absent;
}

Result<Arrays> random_inputs(const Graph& graph, const std::map<std::string, int64_t>& sizes, int64_t batch,
                             uint64_t seed, double scale) {
  Prng prng(seed);
  Arrays inputs;
  for (const GraphValue& input : graph.inputs) {
    Shape shape;
    for (const model_import::Dimension& dimension : input.shape) {
      const auto size = sizes.find(dimension.symbol);
      if (shape.empty()) shape.push_back(batch);
      else if (dimension.value > 0) shape.push_back(dimension.value);
      else if (size != sizes.end()) shape.push_back(size->second);
      else return Error(ErrorCode::invalid_argument, "the size of dimension " + dimension.symbol + " is open");
    }
    auto array = model_import::zeros(input.element, shape);
    if (!array) return array.error().with_context("input " + input.name);
    const int64_t bound = input.element == Element::integer ? index_bound(graph, input.name) : 2;
    for (double& value : array->values) {
      if (input.element == Element::real) value = static_cast<double>(static_cast<float>(prng.uniform(-scale, scale)));
      else value = static_cast<double>(prng.below(static_cast<uint64_t>(bound)));
    }
    inputs[input.name] = std::move(*array);
  }
  return inputs;
}

}  // namespace coterie
