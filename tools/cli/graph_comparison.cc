#include "tools/cli/graph_comparison.h"

#include <optional>

#include "base/os/file.h"
#include "model_import/weights/read_weights.h"
#include "tools/cli/admin_command.h"
#include "tools/cli/local_files.h"
#include "tools/cli/onnx_commands.h"
#include "tools/compare_tensors/model_trace.h"
#include "tools/compare_tensors/trace_comparison.h"
#include "tools/data/npy.h"
#include "tools/model/foreign_model.h"
#include "tools/model/graph_inputs.h"
#include "tools/model/graph_trace.h"
#include "tools/model/random_inputs.h"

namespace coterie {
namespace {

using model_import::Array;
using model_import::Element;
using model_import::Graph;

struct Side {
  std::string path;
  std::optional<Graph> graph;  // else the model
  std::optional<Model> model;
  GraphTrace traced;  // of a model without nodes

  Error named(const Error& error) const { return error.with_context(path); }
};

Result<Side> open_side(const std::string& path) {
  Side side{path, {}, {}, {}};
  if (is_foreign_model(path)) {
    COT_ASSIGN(const Bytes file, os::read_file(path, kForeignFileBytesMax));
    Result<Graph> graph = read_foreign_graph(file);
    if (!graph) return side.named(graph.error());
    side.graph = std::move(*graph);
  } else {
    COT_ASSIGN(Model model, open_model(path));
    side.model = std::move(model);
  }
  return side;
}

Status trace(const GivenInputs& given, Side& side) {
  if (side.graph) {
    const Result<model_import::Arrays> inputs = inputs_for(*side.graph, given);
    if (!inputs) return side.named(inputs.error());
    Result<GraphTrace> traced = trace_of(*side.graph, *inputs);
    if (!traced) return side.named(traced.error());
    side.traced = std::move(*traced);
    return {};
  }
  const Result<ModelInputs> inputs = inputs_for(*side.model, given);
  if (!inputs) return side.named(inputs.error());
  Result<TensorTrace> traced = trace_of(*side.model, inputs->words, inputs->examples);
  if (!traced) return side.named(traced.error());
  side.traced.trace = std::move(*traced);
  return {};
}

// Takes its elements from `left`, which is of the whole file: a file may have thousands of views of all its content.
Result<Array> array_of(const model_import::WeightTensor& tensor, uint64_t& left) {
  const bool is_real = model_import::is_real(tensor.type);
  const uint64_t count = element_count(tensor.shape).value_or(model_import::kArrayElementsMax + 1);
  if (count > left) return Error(ErrorCode::too_large, "brings the inputs over 2^27 elements");
  left -= count;
  Array array{is_real ? Element::real : Element::integer, tensor.shape, {}};
  if (is_real) {
    COT_ASSIGN(const std::vector<float> numbers, model_import::read_numbers(tensor));
    array.values.assign(numbers.begin(), numbers.end());
  } else {
    COT_ASSIGN(const std::vector<int32_t> numbers, model_import::read_integers(tensor));
    array.values.assign(numbers.begin(), numbers.end());
  }
  return array;
}

Result<GivenInputs> read_inputs(const std::string& path) {
  COT_ASSIGN(const Bytes file, read_input(path));
  GivenInputs given;
  if (path.ends_with(".npy")) {
    Result<NpyArray> npy = parse_npy(file);
    if (!npy) return npy.error().with_context(path);
    Array array{npy->type == NpyType::real ? Element::real : Element::integer, npy->shape, std::move(npy->values)};
    if (npy->type == NpyType::uint8) array.values.assign(npy->bytes.begin(), npy->bytes.end());
    given.emplace_back("", std::move(array));
    return given;
  }
  const Result<model_import::WeightTable> table = model_import::read_weights(file);
  if (!table) return table.error().with_context(path);
  uint64_t left = model_import::kArrayElementsMax;
  for (const model_import::WeightTensor& tensor : table->tensors) {
    Result<Array> array = array_of(tensor, left);
    if (!array) return array.error().with_context(path + ": " + tensor.name);
    given.emplace_back(tensor.name, std::move(*array));
  }
  return given;
}

// For the reference's graph, or for the only one, and in its order.
Result<GivenInputs> drawn_inputs(const CompareModelsOptions& options, const Side& a, const Side& b) {
  const Side& side = b.graph ? b : a;
  int64_t batch = options.examples;
  for (const Side* of : {&a, &b}) {
    if (of->graph) batch = declared_batch(*of->graph, batch);
  }
  auto arrays = random_inputs(*side.graph, {}, batch, options.seed, 1);
  if (!arrays) return side.named(arrays.error().with_context("give it --inputs FILE: no input can be drawn"));
  GivenInputs given;
  for (const model_import::GraphValue& input : side.graph->inputs)
    given.emplace_back(input.name, std::move(arrays->at(input.name)));
  return given;
}

std::string text_of(const CompareModelsOptions& options, const GivenInputs& given) {
  if (!options.inputs.empty()) return "those of " + options.inputs;
  const int64_t examples = given.empty() || given[0].second.shape.empty() ? 1 : given[0].second.shape[0];
  return std::to_string(examples) + (examples == 1 ? " example" : " examples") + " drawn at random, seed " +
         std::to_string(options.seed);
}

}  // namespace

Result<TensorComparison> compare_graphs(const CompareModelsOptions& options) {
  if (!options.data.empty()) {
    return Error(ErrorCode::invalid_argument, "--data is for model files; a graph is given --inputs FILE (.npz, .npy)");
  }
  COT_ASSIGN(Side a, open_side(options.a));
  COT_ASSIGN(Side b, open_side(options.b));
  COT_ASSIGN(const GivenInputs given,
             options.inputs.empty() ? drawn_inputs(options, a, b) : read_inputs(options.inputs));
  COT_TRY(trace(given, a));
  COT_TRY(trace(given, b));
  OpNotes notes;
  if (a.graph && b.graph) {
    notes = [&](uint32_t i, uint32_t j) {
      return node_notes(*a.graph, *a.traced.nodes[i], *b.graph, *b.traced.nodes[j], options.tolerance);
    };
  }
  COT_ASSIGN(TensorComparison comparison, compare_traces(a.traced.trace, b.traced.trace, options.tolerance, notes));
  comparison.inputs = text_of(options, given);
  return comparison;
}

}  // namespace coterie
