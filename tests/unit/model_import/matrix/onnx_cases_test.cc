// The importer and the engine against the values that ONNX publishes for its operators
// (tests/golden/onnx_operators), without the interpreter in between.
//
// A case is one node whose operands are inputs. Where the model can depend on the first of them, whose first dimension
// is then the batch, the others are constants; else all are, and the result is added to an input of zeros: what is
// computed while the model is converted. A recurrent layer has its batch in the second dimension of its operand, and in
// the last but one of its outputs: transposed before and after.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>

#include "model_import/convert/import_graph.h"
#include "model_import/convert/operators.h"
#include "tests/unit/model_import/matrix/array_tensor.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"
#include "tests/unit/model_import/onnx_cases.h"

namespace coterie::model_import::matrix {
namespace {

using namespace test;

constexpr int64_t kFloat = 1;
constexpr const char* kAdded = "scene.shift";

struct Scene {
  Graph graph;
  std::map<std::string, Array> inputs;
  uint64_t batch = 1;
};

void make_constant(Scene& scene, const OnnxCase& made, size_t i) {
  scene.graph.constants[made.graph.inputs[i].name] = {made.inputs[i], true};
}

// A model has something to train: numbers that are added to each example, and 0. `shape` is of the output.
void add_output(Scene& scene, const std::string& name, const Shape& shape) {
  HostTensor zero;
  zero.shape = shape.size() < 2 ? Shape{1} : Shape(shape.begin() + 1, shape.end());
  zero.reals.resize(static_cast<size_t>(*element_count(zero.shape)));
  scene.graph.constants[kAdded] = {std::move(zero), false};
  scene.graph.nodes.push_back(
      {.op = "Add", .name = "/shift/Add", .inputs = {name, kAdded}, .outputs = {"scene.y"}, .attributes = {}});
  scene.graph.outputs = {{.name = "scene.y", .element = Element::real, .shape = {}}};
}

std::string as_floats(Scene& scene, const std::string& name) {
  scene.graph.nodes.push_back({.op = "Cast",
                               .name = "/floats/Cast",
                               .inputs = {name},
                               .outputs = {"scene.floats"},
                               .attributes = {{"to", kFloat}}});
  return "scene.floats";
}

// The first operand is the input, for each example of a batch.
std::optional<Scene> of_activations(const OnnxCase& made, size_t output) {
  Scene scene{.graph = made.graph, .inputs = {}};
  const Array first = *array_of(made.inputs[0]);
  if (first.rank() == 0 || first.size() == 0) return std::nullopt;
  scene.graph.inputs.resize(1);
  scene.graph.inputs[0].element = first.element;
  scene.graph.inputs[0].shape.clear();
  for (const int64_t dimension : first.shape) scene.graph.inputs[0].shape.push_back({dimension, ""});
  scene.graph.inputs[0].shape[0] = {0, "batch"};
  scene.batch = static_cast<uint64_t>(first.shape[0]);
  scene.inputs[scene.graph.inputs[0].name] = first;
  for (size_t i = 1; i < made.inputs.size(); ++i) make_constant(scene, made, i);
  const std::string& name = made.graph.outputs[output].name;
  add_output(scene, made.expected[output].element == Element::real ? name : as_floats(scene, name),
             made.expected[output].shape);
  return scene;
}

// All operands are constants.
Scene of_constants(const OnnxCase& made, size_t output) {
  Scene scene{.graph = made.graph, .inputs = {}};
  scene.graph.inputs.clear();
  for (size_t i = 0; i < made.inputs.size(); ++i) make_constant(scene, made, i);
  const size_t rank = std::max<size_t>(made.expected[output].shape.size(), 1);
  scene.graph.inputs = {{.name = "scene.zero", .element = Element::real, .shape = {{0, "batch"}}}};
  Array zero{.element = Element::real, .shape = Shape(rank + 1, 1), .values = {0}};
  for (size_t i = 0; i < rank; ++i) scene.graph.inputs[0].shape.push_back({1, ""});
  scene.inputs["scene.zero"] = zero;
  const std::string y = as_floats(scene, made.graph.outputs[output].name);
  scene.graph.nodes.push_back(
      {.op = "Add", .name = "/sum/Add", .inputs = {"scene.zero", y}, .outputs = {"scene.sum"}, .attributes = {}});
  Shape shape = made.expected[output].shape;
  shape.resize(rank, 1);
  shape.insert(shape.begin(), 1);
  add_output(scene, "scene.sum", shape);
  return scene;
}

bool is_recurrent(const std::string& op) { return op == "LSTM" || op == "GRU" || op == "RNN"; }

using Axes = std::vector<int64_t>;

// The batch of an output of a recurrent layer first: of [steps, directions, batch, hidden] or [directions, batch,
// hidden].
Axes batch_first(size_t rank) { return rank == 4 ? Axes{2, 0, 1, 3} : Axes{1, 0, 2}; }

Array transposed(const Array& x, const Axes& axes) {
  Array y{.element = x.element, .shape = {}, .values = {}};
  for (const int64_t axis : axes) y.shape.push_back(x.shape[static_cast<size_t>(axis)]);
  Index from(x.rank());
  for_each_index(y.shape, [&](const Index& index, size_t) {
    for (size_t i = 0; i < axes.size(); ++i) from[static_cast<size_t>(axes[i])] = index[i];
    y.values.push_back(x.values[offset_of(x.shape, from)]);
  });
  return y;
}

Scene of_sequences(const OnnxCase& made, size_t output) {
  Scene scene{.graph = made.graph, .inputs = {}};
  const Array x = transposed(*array_of(made.inputs[0]), {1, 0, 2});
  scene.graph.inputs = {{.name = "scene.examples",
                         .element = Element::real,
                         .shape = {{0, "batch"}, {x.shape[1], ""}, {x.shape[2], ""}}}};
  scene.batch = static_cast<uint64_t>(x.shape[0]);
  scene.inputs["scene.examples"] = x;
  const auto turn = [&](const std::string& from, const std::string& to, const Axes& axes) {
    scene.graph.nodes.push_back({.op = "Transpose",
                                 .name = "/" + to + "/Transpose",
                                 .inputs = {from},
                                 .outputs = {to},
                                 .attributes = {{"perm", axes}}});
  };
  turn("scene.examples", made.graph.inputs[0].name, {1, 0, 2});
  const Axes axes = batch_first(made.expected[output].shape.size());
  turn(made.graph.outputs[output].name, "scene.by_example", axes);
  for (size_t i = 1; i < made.inputs.size(); ++i) make_constant(scene, made, i);
  add_output(scene, "scene.by_example", transposed(*array_of(made.expected[output]), axes).shape);
  return scene;
}

// Why the importer does not take it; empty: it does, and what it computes is as expected.
std::string refusal_of(const Scene& scene, const Array& expected) {
  Graph graph = scene.graph;
  EXPECT_OK(sort_nodes(graph));
  Result<ImportedModel> import = import_graph(std::move(graph), {.trainable = {kAdded}});
  if (!import) return import.error().message();
  const Result<Model> model = Model::load(std::move(import->model));
  if (!model) return model.error().message();
  std::vector<GoldenTensor> tensors;
  for (size_t i = 0; i < scene.graph.inputs.size(); ++i) {
    GoldenTensor tensor = tensor_of(scene.inputs.at(scene.graph.inputs[i].name));
    tensors.push_back(is_nhwc(*model, "input_layout", i) ? channels_last(tensor) : std::move(tensor));
  }
  GoldenTensor should = tensor_of({.element = Element::real, .shape = expected.shape, .values = expected.values});
  if (is_nhwc(*model, "output_layout")) should = channels_last(should);
  const std::vector<float> is = predicted(*model, tensors, scene.batch);
  EXPECT_EQ(is.size(), should.values.size());
  for (size_t i = 0; i < std::min(is.size(), should.values.size()); ++i) {
    const float a = is[i], b = should.values[i];
    const bool are_equal =
        a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 1e-5f * std::max(1.0f, std::fabs(b));
    EXPECT_TRUE(are_equal) << "element " << i << " is " << a << ", not " << b;
    if (!are_equal) break;
  }
  return {};
}

// The reason why the importer takes it in none of the ways, or nothing.
std::string refusal_of(const OnnxCase& made, size_t output) {
  const Array expected = *array_of(made.expected[output]);
  if (is_recurrent(made.graph.nodes[0].op))
    return refusal_of(of_sequences(made, output), transposed(expected, batch_first(expected.rank())));
  const std::optional<Scene> dynamic = of_activations(made, output);
  if (dynamic && refusal_of(*dynamic, expected).empty()) return {};
  return refusal_of(of_constants(made, output), expected);
}

TEST(OnnxCases, AreImportedAndComputeWhatOnnxPublishes) {
  // No case of ONNX for these is a model of ours, with the reason.
  const std::map<std::string, std::string> without = {
      {"Mish", "its case has more numbers than a golden file should"},
      {"PRelu", "its slopes are one an element, or one a column"},
      {"ReduceProd", "it is taken of lists of integers alone, which shapes are"},
      {"Size", "its cases are of an older opset"}};
  std::map<std::string, size_t> compared;
  std::map<std::string, std::string> refused;
  size_t total = 0;
  for (const OnnxCase& made : onnx_cases()) {
    const std::string& op = made.graph.nodes[0].op;
    for (size_t output = 0; output < made.expected.size(); ++output) {
      SCOPED_TRACE(made.name + ", output " + std::to_string(output));
      if (array_of(made.expected[output])->size() == 0) continue;  // a model has no tensors without elements
      const std::string why = refusal_of(made, output);
      compared[op] += why.empty() ? 1 : 0;
      total += why.empty() ? 1 : 0;
      if (!why.empty()) refused[op] += "\n  " + made.name + ": " + why;
    }
  }
  EXPECT_GT(total, 500u);
  for (const std::string_view name : imported_operators()) {
    const std::string op(name);
    EXPECT_EQ(compared[op] == 0, without.contains(op)) << op << ": " << compared[op] << " compared" << refused[op];
  }
}

}  // namespace
}  // namespace coterie::model_import::matrix
