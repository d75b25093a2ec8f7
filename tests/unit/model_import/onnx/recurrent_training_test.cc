// Recurrent layers with two biases, as PyTorch exports them, trained for five steps: against a recurrence in double,
// written from PyTorch's documentation, whose gradient is a central difference and whose optimizers are three lines.
// The sum of two biases that get the same gradient moves twice as far as one bias does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "model_import/onnx/export_onnx.h"
#include "tests/unit/model_import/onnx/graphs.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"

namespace coterie {
namespace {

using namespace test;
using testing::ElementsAre;

constexpr size_t kSteps = 4, kBatch = 3, kInputs = 2, kHidden = 3;
using Numbers = std::vector<double>;

struct Cell {
  const char* op;
  size_t gates;
  std::vector<size_t> onnx_order;  // gate k of ONNX is this one of PyTorch's: i f g o, r z n
};
const Cell kLstm{"LSTM", 4, {0, 3, 1, 2}}, kGru{"GRU", 3, {1, 0, 2}}, kTanh{"RNN", 1, {0}};

// PyTorch's weight_ih [gates hidden, inputs], weight_hh, bias_ih, bias_hh, one behind the other.
struct Layout {
  size_t rows, weight_hh, bias_ih, bias_hh, end;
  explicit Layout(const Cell& cell)
      : rows(cell.gates * kHidden),
        weight_hh(rows * kInputs),
        bias_ih(weight_hh + rows * kHidden),
        bias_hh(bias_ih + rows),
        end(bias_hh + rows) {}
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// torch.nn.LSTM, GRU and RNN: the last state of one sequence.
Numbers last_state(const Cell& cell, const Numbers& p, const double* x) {
  const Layout at(cell);
  Numbers h(kHidden), c(kHidden);
  for (size_t t = 0; t < kSteps; ++t) {
    Numbers a(at.rows), b(at.rows);
    for (size_t row = 0; row < at.rows; ++row) {
      a[row] = p[at.bias_ih + row];
      b[row] = p[at.bias_hh + row];
      for (size_t i = 0; i < kInputs; ++i) a[row] += p[row * kInputs + i] * x[t * kInputs + i];
      for (size_t i = 0; i < kHidden; ++i) b[row] += p[at.weight_hh + row * kHidden + i] * h[i];
    }
    for (size_t j = 0; j < kHidden; ++j) {
      const auto sum = [&](size_t gate) { return a[gate * kHidden + j] + b[gate * kHidden + j]; };
      if (cell.gates == 4) {
        c[j] = sigmoid(sum(1)) * c[j] + sigmoid(sum(0)) * std::tanh(sum(2));
        h[j] = sigmoid(sum(3)) * std::tanh(c[j]);
      } else if (cell.gates == 3) {
        const double z = sigmoid(sum(1)), n = std::tanh(a[2 * kHidden + j] + sigmoid(sum(0)) * b[2 * kHidden + j]);
        h[j] = (1 - z) * n + z * h[j];
      } else {
        h[j] = std::tanh(sum(0));
      }
    }
  }
  return h;
}

struct Data {
  Numbers x;                  // [batch, steps, inputs]
  std::vector<float> labels;  // the bytes of int32
};

// Cross-entropy with the last state as scores.
double loss_of(const Cell& cell, const Numbers& p, const Data& data) {
  double sum = 0;
  for (size_t e = 0; e < kBatch; ++e) {
    const Numbers h = last_state(cell, p, data.x.data() + e * kSteps * kInputs);
    double all = 0;
    for (const double score : h) all += std::exp(score);
    sum += std::log(all) - h[e % kHidden];
  }
  return sum / kBatch;
}

// So many steps of torch.optim.SGD or Adam.
Numbers trained(const Cell& cell, Numbers p, const Data& data, const OptimizerSettings& o, int steps) {
  const double momentum = o.momentum, beta1 = o.beta1, beta2 = o.beta2;
  Numbers m(p.size()), v(p.size());
  for (int step = 1; step <= steps; ++step) {
    Numbers g(p.size());
    for (size_t i = 0; i < p.size(); ++i) {
      constexpr double kDistance = 1e-5;
      Numbers above = p, below = p;
      above[i] += kDistance;
      below[i] -= kDistance;
      g[i] = (loss_of(cell, above, data) - loss_of(cell, below, data)) / (2 * kDistance);
    }
    for (size_t i = 0; i < p.size(); ++i) {
      const double slope = g[i] + static_cast<double>(o.weight_decay) * p[i];
      if (o.kind == OptimizerKind::sgd) {
        m[i] = momentum * m[i] + slope;
        p[i] -= static_cast<double>(o.learning_rate) * m[i];
      } else {
        m[i] = beta1 * m[i] + (1 - beta1) * slope;
        v[i] = beta2 * v[i] + (1 - beta2) * slope * slope;
        const double mean = m[i] / (1 - std::pow(beta1, step)), square = v[i] / (1 - std::pow(beta2, step));
        p[i] -= static_cast<double>(o.learning_rate) * mean / (std::sqrt(square) + static_cast<double>(o.epsilon));
      }
    }
  }
  return p;
}

// Rows of a table, gate by gate in ONNX's order.
std::vector<float> onnx_rows(const Cell& cell, const Numbers& p, size_t from, size_t columns) {
  std::vector<float> values;
  for (const size_t gate : cell.onnx_order) {
    const auto block = p.begin() + static_cast<std::ptrdiff_t>(from + gate * kHidden * columns);
    values.insert(values.end(), block, block + static_cast<std::ptrdiff_t>(kHidden * columns));
  }
  return values;
}

// A file as PyTorch 1.13 writes it, with names that it makes up; or with names of the file's own.
OnnxBuild layer_of(const Cell& cell, const Numbers& p, const std::string& prefix = "onnx::") {
  const Layout at(cell);
  OnnxBuild build;
  build.input("x", {0, kSteps, kInputs});
  const auto table = [&](const std::string& name, Shape shape, std::vector<float> values) {
    build.graph.constants[prefix + name] = {{.shape = std::move(shape), .reals = std::move(values)}, false};
    return prefix + name;
  };
  const auto rows = static_cast<int64_t>(at.rows);
  std::vector<float> biases = onnx_rows(cell, p, at.bias_ih, 1);
  const std::vector<float> recurrent = onnx_rows(cell, p, at.bias_hh, 1);
  biases.insert(biases.end(), recurrent.begin(), recurrent.end());
  build.node("Transpose", {"x"}, "steps_first", {{"perm", std::vector<int64_t>{1, 0, 2}}});
  build.graph.nodes.push_back({.op = cell.op,
                               .name = "/rnn/" + std::string(cell.op),
                               .inputs = {"steps_first", table("W", {1, rows, kInputs}, onnx_rows(cell, p, 0, kInputs)),
                                          table("R", {1, rows, kHidden}, onnx_rows(cell, p, at.weight_hh, kHidden)),
                                          table("B", {1, 2 * rows}, std::move(biases))},
                               .outputs = {"", "last"},
                               .attributes = {{"hidden_size", int64_t{kHidden}}}});
  if (cell.gates == 3) build.graph.nodes.back().attributes["linear_before_reset"] = int64_t{1};
  build.integers("first", {0}).node("Squeeze", {"last", "first"}, "scores");
  return build;
}

Model loaded(const Result<model_import::ImportedModel>& import) {
  EXPECT_OK(import);
  Result<Model> model = Model::load(Bytes(import->model));
  EXPECT_OK(model);
  return *model;
}

struct Problem {
  Numbers p;
  Data data;
};

Problem problem_of(const Cell& cell) {
  Prng prng(11);
  Problem made;
  for (size_t i = 0; i < Layout(cell).end; ++i) made.p.push_back(static_cast<float>(prng.uniform(-0.6, 0.6)));
  for (size_t i = 0; i < kBatch * kSteps * kInputs; ++i) made.data.x.push_back(static_cast<float>(prng.uniform(-1, 1)));
  for (int32_t label = 0; label < static_cast<int32_t>(kBatch); ++label) {
    float bits;
    std::memcpy(&bits, &label, sizeof(bits));
    made.data.labels.push_back(bits);
  }
  return made;
}

// The parameters after so many steps on the one batch.
std::vector<float> trained_here(const Model& model, const Data& data, const OptimizerSettings& optimizer, int steps) {
  OneBatch batch({{{kBatch, kSteps, kInputs}, {data.x.begin(), data.x.end()}}}, data.labels);
  TrainOptions options;
  options.loss.kind = Loss::softmax_cross_entropy;
  options.optimizer = optimizer;
  options.batch_size = kBatch;
  options.epochs = static_cast<uint32_t>(steps);
  Result<Trainer> trainer = Trainer::create(model, options, batch);
  EXPECT_OK(trainer);
  for (int step = 0; step < steps; ++step) EXPECT_OK(trainer->step());
  return {trainer->parameters().begin(), trainer->parameters().end()};
}

// The model's tensors are the reference's: weights turned, biases as they are.
void expect_parameters(const Model& model, const std::vector<float>& seen, const Cell& cell, const Numbers& p) {
  const Layout at(cell);
  const std::map<std::string, std::pair<size_t, size_t>> parts = {{"rnn.weight_ih_l0", {0, kInputs}},
                                                                  {"rnn.weight_hh_l0", {at.weight_hh, kHidden}},
                                                                  {"rnn.bias_ih_l0", {at.bias_ih, 1}},
                                                                  {"rnn.bias_hh_l0", {at.bias_hh, 1}}};
  size_t compared = 0;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (!has_payload(tensor.role)) continue;
    const auto part = parts.find(tensor.name);
    ASSERT_NE(part, parts.end()) << tensor.name;
    const auto [from, columns] = part->second;
    ++compared;
    for (size_t row = 0; row < at.rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        const float value = seen[tensor.payload_offset / sizeof(float) + column * at.rows + row];
        ASSERT_NEAR(value, p[from + row * columns + column], 2e-6) << tensor.name << " " << row << " " << column;
      }
    }
  }
  EXPECT_EQ(compared, parts.size());
}

OptimizerSettings sgd() { return {.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f}; }
OptimizerSettings adam() { return {.kind = OptimizerKind::adam, .learning_rate = 0.01f, .weight_decay = 0.01f}; }

class TwoBiases : public testing::TestWithParam<const Cell*> {};
INSTANTIATE_TEST_SUITE_P(Of, TwoBiases, testing::Values(&kLstm, &kGru, &kTanh),
                         [](const auto& info) { return std::string(info.param->op); });

TEST_P(TwoBiases, AreWhereTheyWereAfterFiveSteps) {
  const Cell& cell = *GetParam();
  const Problem problem = problem_of(cell);
  const Model model = loaded(layer_of(cell, problem.p).import("scores"));
  for (const OptimizerSettings& optimizer : {sgd(), adam()}) {
    SCOPED_TRACE(static_cast<int>(optimizer.kind));
    const std::vector<float> seen = trained_here(model, problem.data, optimizer, 5);
    expect_parameters(model, seen, cell, trained(cell, problem.p, problem.data, optimizer, 5));
  }
}

TEST_P(TwoBiases, GoToOnnxAndComeBackUnderTheirNames) {
  const Cell& cell = *GetParam();
  const Problem problem = problem_of(cell);
  const Model model = loaded(layer_of(cell, problem.p).import("scores"));
  EXPECT_THAT(names_of(model.graph(), TensorRole::parameter),
              ElementsAre("rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0", "rnn.bias_hh_l0"));
  const Result<Bytes> exported = model_import::export_onnx(model);
  ASSERT_OK(exported);
  const Model again = loaded(model_import::import_onnx(*exported));
  EXPECT_EQ(names_of(again.graph(), TensorRole::parameter), names_of(model.graph(), TensorRole::parameter));
  expect_parameters(again, {again.parameters().begin(), again.parameters().end()}, cell, problem.p);
  const std::vector<float> seen = trained_here(again, problem.data, sgd(), 5);
  expect_parameters(again, seen, cell, trained(cell, problem.p, problem.data, sgd(), 5));
}

TEST_P(TwoBiases, AreNotTrainedWhereThePatternSaysSo) {
  const Cell& cell = *GetParam();
  const Problem problem = problem_of(cell);
  const Model model = loaded(layer_of(cell, problem.p).import("scores", {.constant = {"onnx::B"}}));
  EXPECT_THAT(names_of(model.graph(), TensorRole::parameter), ElementsAre("rnn.weight_ih_l0", "rnn.weight_hh_l0"));
  EXPECT_OK(model_import::export_onnx(model));
}

// Keras has one bias; tf2onnx writes zeros for the other, which must not begin to train.
TEST(OneBias, StaysOneOnTheWayThroughOnnx) {
  for (const Cell* cell : {&kLstm, &kTanh}) {
    Problem problem = problem_of(*cell);
    std::fill(problem.p.begin() + static_cast<std::ptrdiff_t>(Layout(*cell).bias_hh), problem.p.end(), 0);
    const Model model = loaded(layer_of(*cell, problem.p, "keras/").import("scores"));
    const std::vector<std::string> names = {"rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_l0"};
    EXPECT_EQ(names_of(model.graph(), TensorRole::parameter), names);
    const Result<Bytes> exported = model_import::export_onnx(model);
    ASSERT_OK(exported);
    const Model again = loaded(model_import::import_onnx(*exported));
    EXPECT_EQ(names_of(again.graph(), TensorRole::parameter), names);
    EXPECT_EQ(trained_here(again, problem.data, sgd(), 5), trained_here(model, problem.data, sgd(), 5));
  }
}

// One module that is called twice has its tables once.
TEST(RecurrentLayer, ThatIsCalledTwiceIsTrainedAsOne) {
  const Problem problem = problem_of(kLstm);
  OnnxBuild build = layer_of(kLstm, problem.p);
  model_import::Node second = build.graph.nodes[1];
  second.name += "_1";
  second.outputs = {"", "second_last"};
  build.graph.nodes.push_back(second);
  build.node("Squeeze", {"second_last", "first"}, "second").node("Add", {"scores", "second"}, "sum");
  EXPECT_THAT(names_of(build.imported("sum"), TensorRole::parameter),
              ElementsAre("rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0", "rnn.bias_hh_l0"));
}

TEST(RecurrentLayer, IsNumberedInItsModule) {
  const Problem problem = problem_of(kTanh);
  OnnxBuild build = layer_of(kTanh, problem.p);
  model_import::Node second = build.graph.nodes[1];
  second.name += "_1";
  second.outputs = {"", "second_last"};
  for (size_t i = 1; i <= 3; ++i) {
    const std::string other = second.inputs[i] + "2";
    build.graph.constants[other] = build.graph.constants.at(second.inputs[i]);
    second.inputs[i] = other;
  }
  second.attributes["direction"] = std::string("forward");
  build.graph.nodes.push_back(second);
  build.node("Squeeze", {"second_last", "first"}, "second").node("Add", {"scores", "second"}, "sum");
  EXPECT_THAT(names_of(build.imported("sum"), TensorRole::parameter),
              ElementsAre("rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0", "rnn.bias_hh_l0",
                          "rnn.weight_ih_l1", "rnn.weight_hh_l1", "rnn.bias_ih_l1", "rnn.bias_hh_l1"));
}

}  // namespace
}  // namespace coterie
