// Each operator that is imported, in the opsets that have it, exported with constant folding and without, predicting
// and training.
//
// The oracle is the interpreter of ONNX graphs (model_import/interpret), written from ONNX's specification: its sums
// are in double, and the gradient that a step of training is held against is its central difference. It is itself held
// against the values that ONNX publishes for each edition of each operator (interpret/operators_test.cc); so is the
// importer, without it (onnx_cases_test.cc). Values of PyTorch are those of whole networks (onnx/golden_test.cc,
// tests/golden/onnx), and of each operator where PyTorch is installed (tests/python/torch_operators_test.py).
//
// By day a row has its first opset, its last, and those in which its operator was defined anew (rows of patterns: the
// first and the last); at night (COT_NIGHTLY) all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "device_sdk/runtime/trainer.h"
#include "model_import/convert/convert.h"
#include "model_import/convert/import_graph.h"
#include "model_import/convert/operators.h"
#include "model_import/fold/fold.h"
#include "model_import/interpret/interpret.h"
#include "tests/unit/model_import/matrix/array_tensor.h"
#include "tests/unit/model_import/matrix/operator_row.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"
#include "tests/unit/model_import/onnx_operators.h"

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
  for (const Slope& slope : slopes) ASSERT_NEAR(slope.seen, slope.expected, 2e-5 + 4e-4 * largest) << slope.name;
}

// What a row's cells have shown: many opsets become the same file, which predicts and trains the same.
struct Shown {
  std::map<Bytes, std::vector<float>> predicted;
  std::set<std::pair<Bytes, bool>> trained;  // and whether it was in training
};

struct Cell {
  int64_t opset;
  bool is_folded, is_training;
  std::string name(const std::string& op, const std::string& form) const {
    return op + (form.empty() ? "" : ", " + form) + ", opset " + std::to_string(opset) +
           (is_folded ? ", folded" : ", not folded") + (is_training ? ", training" : "");
  }
};

void expect_row(const OperatorRow& row, Shown& shown, const Cell& cell) {
  SCOPED_TRACE(cell.name(row.op, row.form));
  const Case made = case_of(row, row.build, cell.opset, cell.is_folded, cell.is_training);
  ASSERT_FALSE(testing::Test::HasFailure());
  Result<ImportedModel> import = import_graph(Graph(made.graph.graph), {.trainable = {kShift}});
  ASSERT_OK(import);
  const Bytes file = import->model;
  SCOPED_TRACE(testing::PrintToString(import->roles));
  const Result<Model> model = Model::load(std::move(import->model));
  if (!model && model.error().message().find("this build has no") != std::string::npos) return;
  ASSERT_OK(model);
  if (row.becomes && (cell.is_folded || !row.becomes_only_folded)) {
    const auto becomes = [&](const OpInfo& op) { return op.kind == *row.becomes; };
    EXPECT_TRUE(std::ranges::any_of(model->graph().ops, becomes)) << "it stays written out";
  }

  const Result<Arrays> arrays = interpret(made.graph.graph, made.inputs, {made.output});
  ASSERT_OK(arrays);
  const Array& y = arrays->at(made.output);
  ASSERT_EQ(y.shape[0], kBatch);
  GoldenTensor expected = tensor_of({.element = Element::real, .shape = y.shape, .values = y.values});
  if (is_nhwc(*model, "output_layout")) expected = channels_last(expected);
  const auto [prediction, is_new] = shown.predicted.try_emplace(file);
  if (is_new) prediction->second = predicted(*model, tensors_for(*model, made), kBatch);
  EXPECT_LT(distance(prediction->second, expected.values), 1e-5);
  if (!shown.trained.emplace(file, cell.is_training).second) return;

  // Exported for training and trained, or exported for inference and fine-tuned with its statistics as they are.
  const Build& trains_as = cell.is_training && row.training ? row.training : row.build;
  expect_gradient(*model, made, case_of(row, trains_as, cell.opset, cell.is_folded, cell.is_training),
                  !cell.is_training);
}

// The opsets that a row is shown in: by day the first, the last, and those that changed its operator.
std::set<int64_t> opsets_of(const std::string& op, int64_t first, int64_t last) {
  std::set<int64_t> opsets{first, last};
#ifdef COT_NIGHTLY
  for (int64_t opset = first; opset <= last; ++opset) opsets.insert(opset);
#endif
  static const std::map<std::string, std::vector<int64_t>> editions = test::onnx_editions();
  const auto found = editions.find(op);
  if (found == editions.end()) return opsets;
  for (const int64_t opset : found->second) {
    if (opset >= first && opset <= last) opsets.insert(opset);
  }
  return opsets;
}

template <typename Row>
void for_each_cell(const Row& row, const std::function<void(const Cell&)>& visit) {
  for (const int64_t opset : opsets_of(row.op, row.first, row.last)) {
    for (const bool is_folded : {true, false}) {
      for (const bool is_training : {false, true}) {
        visit({opset, is_folded, is_training});
        if (testing::Test::HasFailure()) return;  // one cell at a time
      }
    }
  }
}

struct Family {
  std::vector<OperatorRow> (*rows)();
  std::string op;
};

std::vector<Family> operators_in(std::vector<OperatorRow> (*rows)()) {
  std::set<std::string> names;
  for (const OperatorRow& row : rows()) names.insert(row.op);
  std::vector<Family> operators;
  for (const std::string& name : names) operators.push_back({rows, name});
  return operators;
}

class OperatorMatrix : public testing::TestWithParam<Family> {};

TEST_P(OperatorMatrix, HoldsInItsOpsetsAndModes) {
  size_t files = 0;
  for (const OperatorRow& row : GetParam().rows()) {
    if (row.op != GetParam().op) continue;
    Shown shown;
    for_each_cell(row, [&](const Cell& cell) { expect_row(row, shown, cell); });
    if (HasFailure()) return;
    files += shown.predicted.size();
  }
  if (files == 0) GTEST_SKIP() << "an op is left out of this build";
}

std::string name_of_case(const testing::TestParamInfo<Family>& info) {
  std::string name = info.param.op;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Elementwise, OperatorMatrix, testing::ValuesIn(operators_in(elementwise_rows)), name_of_case);
INSTANTIATE_TEST_SUITE_P(Arithmetic, OperatorMatrix, testing::ValuesIn(operators_in(arithmetic_rows)), name_of_case);
INSTANTIATE_TEST_SUITE_P(Layers, OperatorMatrix, testing::ValuesIn(operators_in(layer_rows)), name_of_case);
INSTANTIATE_TEST_SUITE_P(Movement, OperatorMatrix, testing::ValuesIn(operators_in(movement_rows)), name_of_case);
INSTANTIATE_TEST_SUITE_P(Known, OperatorMatrix, testing::ValuesIn(operators_in(known_value_rows)), name_of_case);
INSTANTIATE_TEST_SUITE_P(Fused, OperatorMatrix, testing::ValuesIn(operators_in(fused_rows)), name_of_case);

TEST(OperatorMatrixRefusals, NameTheNodeAndTheForm) {
  for (const RefusedRow& row : refused_rows()) {
    for_each_cell(row, [&](const Cell& cell) {
      SCOPED_TRACE(cell.name(row.op, row.form));
      const OperatorRow built{.op = row.op, .form = row.form, .input = row.input, .build = row.build};
      const Case made = case_of(built, row.build, cell.opset, cell.is_folded, cell.is_training);
      const Result<ImportedModel> import = import_graph(Graph(made.graph.graph), {.trainable = {kShift}});
      ASSERT_ERROR(import, ErrorCode::invalid_argument, row.why);
      EXPECT_NE(import.error().message().find("(" + row.op + ")"), std::string::npos) << import.error().message();
    });
  }
}

// --- what cannot be forgotten

TEST(OperatorMatrixRows, CoverEveryOpsetOfEveryImportedOperator) {
  std::map<std::string, std::set<int64_t>> covered;
  for (const OperatorRow& row : all_rows()) {
    for (int64_t opset = row.first; opset <= row.last; ++opset) covered[row.op].insert(opset);
  }
  const std::map<std::string, std::vector<int64_t>> editions = test::onnx_editions();
  for (const std::string_view name : imported_operators()) {
    const std::string op(name);
    ASSERT_TRUE(editions.contains(op)) << op << " is not among ONNX's operators";
    for (int64_t opset = editions.at(op).front(); opset <= kOpsetMax; ++opset) {
      EXPECT_TRUE(covered[op].contains(opset)) << op << " in opset " << opset;
    }
  }
  for (const char* op : kFusedOperators) EXPECT_EQ(covered[op].size(), size_t{kOpsetMax - kOpsetMin + 1}) << op;
}

TEST(OperatorMatrixRows, AreOfImportedOperators) {
  const auto is_known = [](const std::string& op) {
    return is_imported(op) || std::ranges::find(kFusedOperators, op) != std::end(kFusedOperators);
  };
  for (const OperatorRow& row : all_rows()) EXPECT_TRUE(is_known(row.op)) << row.op;
  for (const RefusedRow& row : refused_rows()) EXPECT_TRUE(is_known(row.op)) << row.op;
}

// What is converted or computed at import is listed, and the other way round.
TEST(OperatorMatrixRows, AreOfAllThatIsConverted) {
  for (const auto& [op, editions] : test::onnx_editions()) {
    const bool is_converted =
        converter_of(op) != nullptr || index_rule(op) != nullptr || arithmetic_rule(op) != nullptr;
    EXPECT_EQ(is_imported(op), is_converted || op == "Shape" || op == "Size") << op;
  }
  for (const char* op : kFusedOperators) {
    EXPECT_NE(converter_of(op), nullptr) << op;
    EXPECT_FALSE(is_imported(op)) << op << " of a file is no operator of ONNX";
  }
}

// Every attribute that ONNX gives to an operator is in a row that is computed, or in one that is refused.
TEST(OperatorMatrixRows, HaveEveryAttribute) {
  std::map<std::string, std::set<std::string>> seen;
  const auto look = [&](const auto& row) {
    for (const int64_t opset : {row.first, row.last}) {
      for (const bool is_training : {false, true}) {
        const OperatorRow built{.op = row.op, .form = row.form, .input = row.input, .build = row.build};
        for (const Node& node : case_of(built, row.build, opset, true, is_training).graph.graph.nodes) {
          for (const auto& [key, value] : node.attributes) seen[node.op].insert(key);
        }
      }
    }
  };
  for (const OperatorRow& row : all_rows()) look(row);
  for (const RefusedRow& row : refused_rows()) look(row);
  for (const auto& [op, attributes] : test::onnx_attributes()) {
    for (const std::string& attribute : attributes)
      EXPECT_TRUE(seen[op].contains(attribute)) << op << ", " << attribute;
  }
}

}  // namespace
}  // namespace coterie::model_import::matrix
