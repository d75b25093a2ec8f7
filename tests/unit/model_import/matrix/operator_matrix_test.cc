// Each operator that is imported, in each opset that has it, exported with constant folding and without, predicting and
// training: against the interpreter of ONNX graphs, whose sums are in double and whose gradient is a central
// difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "device_sdk/runtime/trainer.h"
#include "model_import/convert/import_graph.h"
#include "model_import/interpret/interpret.h"
#include "tests/unit/model_import/matrix/operator_row.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"
#include "tests/unit/model_import/onnx_operator_names.h"

namespace coterie::model_import::matrix {
namespace {

using namespace test;

constexpr int64_t kBatch = 3;
constexpr const char* kShift = "shift";

// The row's graph with its result, and examples for it.
struct Case {
  RowGraph graph;
  std::string output;
  Arrays inputs;
};

Case case_of(const OperatorRow& row, const Build& build, int64_t opset, bool is_folded, bool is_training) {
  Case made{RowGraph(opset, is_folded, is_training), {}, {}};
  const std::string x = made.graph.input("x", row.input);
  const std::string shift = made.graph.weight(kShift, row.input, -0.05, 0.05);
  made.output = build(made.graph, made.graph.node("Add", {x, shift}));
  made.graph.graph.outputs = {{.name = made.output, .element = Element::real, .shape = {}}};
  EXPECT_OK(sort_nodes(made.graph.graph));
  Prng prng(7);
  for (const GraphValue& input : made.graph.graph.inputs) {
    Array array{.element = input.element, .shape = {kBatch}, .values = {}};
    for (size_t i = 1; i < input.shape.size(); ++i) array.shape.push_back(input.shape[i].value);
    array.values.resize(static_cast<size_t>(*element_count(array.shape)));
    const auto limit = static_cast<uint64_t>(made.graph.index_limit(input.name));
    for (double& value : array.values) {
      value = limit > 0 ? static_cast<double>(prng.below(limit))
                        : static_cast<double>(static_cast<float>(prng.uniform(row.low, row.high)));
    }
    made.inputs[input.name] = std::move(array);
  }
  return made;
}

GoldenTensor tensor_of(const Array& array) {
  GoldenTensor tensor{array.shape, {}};
  for (const double value : array.values) tensor.values.push_back(static_cast<float>(value));
  if (array.element == Element::real) return tensor;
  for (float& value : tensor.values) {
    const auto integer = static_cast<int32_t>(value);
    std::memcpy(&value, &integer, sizeof(value));
  }
  return tensor;
}

std::vector<GoldenTensor> tensors_for(const Model& model, const Case& made) {
  std::vector<GoldenTensor> tensors;
  for (size_t i = 0; i < made.graph.graph.inputs.size(); ++i) {
    GoldenTensor tensor = tensor_of(made.inputs.at(made.graph.graph.inputs[i].name));
    tensors.push_back(is_nhwc(model, "input_layout", i) ? channels_last(tensor) : std::move(tensor));
  }
  return tensors;
}

std::vector<double> interpreted(const Case& made) {
  const Result<Arrays> arrays = interpret(made.graph.graph, made.inputs, {made.output});
  EXPECT_OK(arrays);
  return arrays ? arrays->at(made.output).values : std::vector<double>();
}

// One batch with numbers to come near to.
class Examples : public ExampleSource {
 public:
  Examples(std::vector<GoldenTensor> inputs, std::vector<float> targets)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {}
  uint64_t size() const override { return kBatch; }
  Status read(uint64_t index, const Example& to) override {
    const auto copy = [&](const std::vector<float>& from, std::span<float> place) {
      std::memcpy(place.data(), from.data() + index * place.size(), place.size() * sizeof(float));
    };
    for (size_t i = 0; i < to.input_count(); ++i) copy(inputs_[i].values, to.features(i));
    copy(targets_, to.targets());
    return {};
  }

 private:
  std::vector<GoldenTensor> inputs_;
  std::vector<float> targets_;
};

double squared_distance(const std::vector<double>& y, const std::vector<double>& targets) {
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += (y[i] - targets[i]) * (y[i] - targets[i]);
  return sum / static_cast<double>(y.size());
}

// Where in the model's parameters each element of the graph's weights is: elements are moved, never computed, and no
// two are equal.
std::map<float, size_t> places_in(const Model& model) {
  std::map<float, size_t> places;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    const size_t first = tensor.payload_offset / sizeof(float);
    for (size_t i = first; i < first + *element_count(tensor.shape); ++i) places[model.parameters()[i]] = i;
  }
  return places;
}

// The training's first gradient, element by element, against that of what `reference` computes.
void expect_gradient(const Model& model, const Case& made, Case reference, bool freeze_statistics) {
  const std::vector<double> y = interpreted(reference);
  std::vector<double> targets;
  Prng prng(3);
  for (const double value : y) targets.push_back(static_cast<double>(static_cast<float>(value + prng.uniform(-1, 1))));
  const Shape shape =
      interpret(reference.graph.graph, reference.inputs, {reference.output})->at(reference.output).shape;
  GoldenTensor placed = tensor_of({.element = Element::real, .shape = shape, .values = targets});
  if (is_nhwc(model, "output_layout")) placed = channels_last(placed);
  Examples examples(tensors_for(model, made), placed.values);
  TrainOptions options;
  options.loss = {.kind = Loss::mean_squared_error, .target = TargetKind::values};
  options.optimizer = {.learning_rate = 1};
  options.batch_size = kBatch;
  options.freeze_statistics = freeze_statistics;
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  EXPECT_NEAR(trainer->summary().loss_sum / kBatch, squared_distance(y, targets), 1e-4);
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);

  const std::map<float, size_t> places = places_in(model);
  struct Slope {
    std::string name;
    double expected, seen;
  };
  std::vector<Slope> slopes;
  double largest = 0;
  for (const std::string& name : reference.graph.weights) {
    std::vector<float>& values = reference.graph.graph.constants.at(name).tensor.reals;
    for (size_t i = 0; i < values.size(); ++i) {
      const auto place = places.find(values[i]);
      ASSERT_NE(place, places.end()) << name << "[" << i << "] is not trained";
      const float kept = values[i], above = kept + 1e-3f, below = kept - 1e-3f;
      values[i] = above;
      const double loss_above = squared_distance(interpreted(reference), targets);
      values[i] = below;
      const double loss_below = squared_distance(interpreted(reference), targets);
      values[i] = kept;
      const double slope = (loss_above - loss_below) / (static_cast<double>(above) - static_cast<double>(below));
      slopes.push_back({name + "[" + std::to_string(i) + "]", slope, -static_cast<double>(delta[place->second])});
      largest = std::max(largest, std::fabs(slope));
    }
  }
  for (const Slope& slope : slopes) ASSERT_NEAR(slope.seen, slope.expected, 2e-5 + 2e-4 * largest) << slope.name;
}

// What a row's cells have shown: many opsets become the same file, which predicts and trains the same.
struct Shown {
  std::map<Bytes, std::vector<float>> predicted;
  std::set<std::pair<Bytes, bool>> trained;  // and whether it was in training
};

void expect_row(const OperatorRow& row, Shown& shown, int64_t opset, bool is_folded, bool is_training) {
  SCOPED_TRACE(row.op + (row.form.empty() ? "" : ", " + row.form) + ", opset " + std::to_string(opset) +
               (is_folded ? ", folded" : ", not folded") + (is_training ? ", training" : ""));
  const Case made = case_of(row, row.build, opset, is_folded, is_training);
  ASSERT_FALSE(testing::Test::HasFailure());
  Result<ImportedModel> import = import_graph(Graph(made.graph.graph), {.trainable = {kShift}});
  ASSERT_OK(import);
  const Bytes file = import->model;
  const Result<Model> model = Model::load(std::move(import->model));
  if (!model && model.error().message().find("this build has no") != std::string::npos) return;
  ASSERT_OK(model);

  const Result<Arrays> arrays = interpret(made.graph.graph, made.inputs, {made.output});
  ASSERT_OK(arrays);
  const Array& y = arrays->at(made.output);
  ASSERT_EQ(y.shape[0], kBatch);
  GoldenTensor expected = tensor_of({.element = Element::real, .shape = y.shape, .values = y.values});
  if (is_nhwc(*model, "output_layout")) expected = channels_last(expected);
  const auto [prediction, is_new] = shown.predicted.try_emplace(file);
  if (is_new) prediction->second = predicted(*model, tensors_for(*model, made), kBatch);
  EXPECT_LT(distance(prediction->second, expected.values), 1e-5);
  if (!shown.trained.emplace(file, is_training).second) return;

  // Exported for training and trained, or exported for inference and fine-tuned with its statistics as they are.
  const Build& trains_as = is_training && row.training ? row.training : row.build;
  expect_gradient(*model, made, case_of(row, trains_as, opset, is_folded, is_training), !is_training);
}

class OperatorMatrix : public testing::TestWithParam<std::string> {};

TEST_P(OperatorMatrix, HoldsInEveryOpsetAndMode) {
  size_t cells = 0;
  for (const OperatorRow& row : all_rows()) {
    if (row.op != GetParam()) continue;
    Shown shown;
    for (int64_t opset = row.first; opset <= row.last; ++opset) {
      for (const bool is_folded : {true, false}) {
        for (const bool is_training : {false, true}) {
          expect_row(row, shown, opset, is_folded, is_training);
          if (HasFailure()) return;  // one cell at a time
          ++cells;
        }
      }
    }
  }
  EXPECT_GT(cells, 0u);
}

std::vector<std::string> imported_operators() {
  std::vector<std::string> operators;
  for (const std::string& op : onnx_operators()) {
    if (is_imported(op)) operators.push_back(op);
  }
  return operators;
}

// The operators whose cells are computed; that each imported one has rows is what the test below sees.
INSTANTIATE_TEST_SUITE_P(Of, OperatorMatrix,
                         testing::Values("Abs", "Add", "And", "ArgMax", "ArgMin", "BatchNormalization", "Cast", "Celu",
                                         "Conv", "CumSum", "DepthToSpace", "GRU", "Gelu", "GroupNormalization", "LRN",
                                         "LSTM", "LogSoftmax", "Mish", "Mod", "Not", "OneHot", "Pad", "ReduceProd",
                                         "Softmax", "Softsign", "SpaceToDepth", "ThresholdedRelu"),
                         [](const auto& info) { return info.param; });

// The opset that an operator came with, where that is after the first that is read.
int64_t first_opset(const std::string& op) {
  static const std::map<std::string, int64_t> later = {
      {"Celu", 12},  {"GreaterOrEqual", 12},     {"LessOrEqual", 12},        {"HardSwish", 14},
      {"Trilu", 14}, {"LayerNormalization", 17}, {"GroupNormalization", 18}, {"Mish", 18},
      {"Gelu", 20}};
  const auto found = later.find(op);
  return found == later.end() ? kOpsetMin : found->second;
}

TEST(OperatorMatrixRows, CoverEveryOpsetOfTheirOperator) {
  std::map<std::string, std::set<int64_t>> covered;
  for (const OperatorRow& row : all_rows()) {
    for (int64_t opset = row.first; opset <= row.last; ++opset) covered[row.op].insert(opset);
  }
  for (const std::string& op : imported_operators()) {
    for (int64_t opset = first_opset(op); opset <= kOpsetMax; ++opset) {
      EXPECT_TRUE(covered[op].contains(opset)) << op << " in opset " << opset;
    }
  }
}

}  // namespace
}  // namespace coterie::model_import::matrix
