// lstm, gru, rnn.
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "tests/unit/device_sdk/runtime/gradient_of.h"
#include "tests/unit/device_sdk/runtime/learning.h"
#include "tests/unit/device_sdk/runtime/torch_vectors.h"
#include "tests/unit/train_kernels/rnn_tester.h"

namespace coterie::test {
namespace {

using kernels::RnnCell;
using kernels::RnnShape;

OpKind kind_of(RnnCell cell) {
  if (cell == RnnCell::lstm) return OpKind::lstm;
  return cell == RnnCell::tanh || cell == RnnCell::relu ? OpKind::rnn : OpKind::gru;
}

RnnAttributes attributes_of(const RnnShape& s) {
  return {.hidden = static_cast<uint32_t>(s.hidden),
          .is_reverse = s.reverse,
          .reset_after = s.cell != RnnCell::gru,
          .is_relu = s.cell == RnnCell::relu};
}

std::string text_of(const RnnShape& s) {
  return "cell " + std::to_string(static_cast<int>(s.cell)) + (s.reverse ? " reverse" : "");
}

TensorId turned(ModelBuilder& build, TensorId x) {
  return build.op(OpKind::transpose, {x}, TransposeAttributes{{1, 0, 2}});
}

// Which gradients arrive, and which are needed.
struct Use {
  bool y = true, h_n = true, c_n = true;  // influence the loss
  bool trains_x = true, trains_states = true;
  bool trains_weight = true, trains_recurrent = true, has_bias = true;
  bool has_two_biases = false, trains_bias = true, trains_second_bias = true;
};

// Three scores from a layer over inputs [b, t, i].
Model layer(const RnnShape& s, const Use& use) {
  ModelBuilder build("layer", {static_cast<int64_t>(s.steps), static_cast<int64_t>(s.inputs)}, 1);
  const auto hidden = static_cast<int64_t>(s.hidden), columns = static_cast<int64_t>(s.columns());
  const auto units = static_cast<uint32_t>(s.hidden);
  const bool is_lstm = s.cell == RnnCell::lstm;
  const TensorId x = use.trains_x ? shifted(build, build.input()) : build.input();
  const auto parameter = [&](const char* name, Shape shape, uint64_t seed) {
    const std::vector<float> values = random_values(elements(shape), seed, -0.6, 0.9);
    return build.parameter(name, std::move(shape), values);
  };
  std::vector<TensorId> inputs = {turned(build, x), parameter("w", {static_cast<int64_t>(s.inputs), columns}, 2),
                                  parameter("r", {hidden, columns}, 3)};
  const bool is_joint = s.is_gru() && !use.has_two_biases;
  inputs.push_back(use.has_bias ? parameter("bias", {is_joint ? 2 * columns : columns}, 4) : kNoTensor);
  if (use.trains_states) {
    inputs.push_back(build.dense(build.input("start", {2}), units));
    if (is_lstm) inputs.push_back(build.dense(build.input("start of c", {2}), units));
  }
  if (use.has_two_biases) {
    inputs.resize(is_lstm ? 6 : 5, kNoTensor);
    inputs.push_back(parameter("second bias", {columns}, 5));
  }
  const std::vector<TensorId> outputs = build.outputs(kind_of(s.cell), inputs, attributes_of(s));
  EXPECT_EQ(outputs.size(), is_lstm ? 3u : 2u);
  std::optional<TensorId> scores;
  const auto add = [&](TensorId part) {
    const TensorId scored = build.dense(part, 3);
    scores = scores ? build.add(*scores, scored) : scored;
  };
  if (use.y) add(build.flatten(turned(build, outputs[0])));
  if (use.h_n) add(outputs[1]);
  if (use.c_n && is_lstm) add(outputs[2]);
  return load_or_die(forged(load_or_die(build.finish(*scores)), [&](ModelGraph& graph) {
    for (TensorInfo& tensor : graph.tensors) {
      tensor.is_frozen = (tensor.name == "w" && !use.trains_weight) || (tensor.name == "r" && !use.trains_recurrent) ||
                         (tensor.name == "bias" && !use.trains_bias) ||
                         (tensor.name == "second bias" && !use.trains_second_bias);
    }
  }));
}

void expect_gradients(const RnnShape& s, const Use& use) {
  SCOPED_TRACE(text_of(s));
  const Model model = layer(s, use);
  Batch batch(model, s.batch);
  expect_gradient_is_numerical(model, batch);
}

TEST(RnnRule, DifferentiatesEveryCellInBothDirections) {
  for (const RnnCell cell : kernels::test::kRnnCells) {
    for (const bool reverse : {false, true}) expect_gradients({cell, 3, 2, 2, 3, 3, reverse}, {});
  }
}

TEST(RnnRule, DifferentiatesWhereverTheGradientArrives) {
  const RnnShape s{RnnCell::lstm, 3, 2, 2, 3, 3};
  expect_gradients(s, {.y = true, .h_n = false, .c_n = false});
  expect_gradients(s, {.y = false, .h_n = true, .c_n = false});
  expect_gradients(s, {.y = false, .h_n = false, .c_n = true});
  expect_gradients({RnnCell::gru_linear_before_reset, 3, 2, 2, 3, 3}, {.y = false});
}

TEST(RnnRule, DifferentiatesSequencesOfOneStep) {
  for (const RnnCell cell : kernels::test::kRnnCells) expect_gradients({cell, 1, 2, 2, 3, 3}, {});
}

TEST(RnnRule, DifferentiatesByPartOfItsOperands) {
  const RnnShape s{RnnCell::lstm, 3, 2, 2, 3, 3};
  expect_gradients(s, {.trains_x = false, .trains_states = false});
  expect_gradients(s, {.trains_weight = false});
  expect_gradients(s, {.trains_recurrent = false, .has_bias = false});
  expect_gradients(s, {.trains_x = false, .trains_weight = false, .trains_recurrent = false});
  expect_gradients(s, {.trains_weight = false, .trains_recurrent = false, .has_bias = false});
}

TEST(RnnRule, DifferentiatesTwoBiases) {
  for (const RnnCell cell : kernels::test::kRnnCells) {
    expect_gradients({cell, 2, 2, 2, 2, 2}, {.trains_states = false, .has_two_biases = true});
  }
  for (const RnnCell cell : {RnnCell::lstm, RnnCell::gru_linear_before_reset}) {
    const RnnShape s{cell, 2, 1, 1, 2, 2};
    expect_gradients(s, {.has_two_biases = true, .trains_bias = false});
    expect_gradients(s, {.has_two_biases = true, .trains_second_bias = false});
    expect_gradients(s,
                     {.trains_weight = false, .trains_recurrent = false, .has_two_biases = true, .trains_bias = false});
  }
}

// Output i of the op becomes absent.
void take_away_output(ModelGraph& graph, OpKind kind, size_t i) {
  const auto of_kind = [&](const OpInfo& op) { return op.kind == kind; };
  const auto op = std::find_if(graph.ops.begin(), graph.ops.end(), of_kind);
  const uint32_t tensor = std::exchange(op->outputs[i], kNoTensor);
  graph.tensors.erase(graph.tensors.begin() + tensor);
  const auto close_gap = [&](uint32_t& index) {
    if (index != kNoTensor && index > tensor) --index;
  };
  for (OpInfo& each : graph.ops) {
    std::for_each(each.inputs.begin(), each.inputs.end(), close_gap);
    std::for_each(each.outputs.begin(), each.outputs.end(), close_gap);
  }
  std::for_each(graph.inputs.begin(), graph.inputs.end(), close_gap);
  close_gap(graph.output);
}

// A model may leave y away: only the last state is read.
TEST(RnnRule, DifferentiatesWithoutItsFirstOutput) {
  const RnnShape s{RnnCell::lstm, 3, 2, 2, 3, 3};
  const Model model = load_or_die(forged(layer(s, {.y = false, .c_n = false}), [](ModelGraph& graph) {
    for (const size_t output : {0, 2}) take_away_output(graph, OpKind::lstm, output);
  }));
  Batch batch(model, s.batch);
  expect_gradient_is_numerical(model, batch);
}

using Layer = kernels::test::RnnRun<float>;  // operands and results

// What the op makes of the run's operands: output 0, 1 or 2. The batch holds x as it lies in memory, [t, b,
// i].
std::vector<float> computed(const Layer& run, size_t output) {
  const RnnShape& s = run.s;
  const auto steps = static_cast<int64_t>(s.steps), inputs = static_cast<int64_t>(s.inputs);
  const auto hidden = static_cast<int64_t>(s.hidden), columns = static_cast<int64_t>(s.columns());
  std::vector<float> bias = run.bias_w;
  if (s.is_gru()) bias.insert(bias.end(), run.bias_r.begin(), run.bias_r.end());
  for (size_t i = 0; !s.is_gru() && i < bias.size(); ++i) bias[i] += run.bias_r[i];
  ModelBuilder build("layer", {steps * inputs}, 1);
  std::vector<TensorId> operands = {
      build.op(OpKind::reshape, {build.input()}, ShapeAttributes{{steps, -1, inputs}}),
      build.parameter("w", {inputs, columns}, run.w), build.parameter("r", {hidden, columns}, run.r),
      build.parameter("bias", {static_cast<int64_t>(bias.size())}, bias), build.input("h0", {hidden})};
  if (s.cell == RnnCell::lstm) operands.push_back(build.input("c0", {hidden}));
  const std::vector<TensorId> outputs = build.outputs(kind_of(s.cell), operands, attributes_of(s));
  const TensorId y = output == 0 ? build.reshape(outputs[0], {steps * hidden}) : outputs[output];
  const Model model = load_or_die(build.finish(y));
  Batch batch(model, s.batch);
  batch.floats(0) = run.x;
  batch.floats(1) = run.h0;
  if (s.cell == RnnCell::lstm) batch.floats(2) = run.c0;
  return outputs_of(model, batch);
}

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

TEST(RnnRule, ComputesWhatTheReferenceKernelsDo) {
  for (const RnnCell cell : kernels::test::kRnnCells) {
    for (const bool reverse : {false, true}) {
      const RnnShape s{cell, 4, 3, 2, 5, 5, reverse};
      SCOPED_TRACE(text_of(s));
      Prng prng(9);
      Layer run(s, prng, true, true);
      run.forward(kernels::reference_kernels<float>(), {0, s.batch});
      expect_near(computed(run, 0), doubles(run.y), 1e-5, "y");
      expect_near(computed(run, 1), doubles(run.h_n), 1e-5, "h_n");
      if (cell == RnnCell::lstm) expect_near(computed(run, 2), doubles(run.c_n), 1e-5, "c_n");
    }
  }
}

TEST(RnnRule, ComputesWhatPyTorchDoes) {
  const std::map<std::string, RnnCell> cells = {{"lstm", RnnCell::lstm},
                                                {"gru", RnnCell::gru_linear_before_reset},
                                                {"tanh", RnnCell::tanh},
                                                {"relu", RnnCell::relu}};
  for (const TorchCase& c : torch_cases("rnn", "kernel_vectors.txt")) {
    SCOPED_TRACE(c.attributes.at("cell"));
    const auto d = c.list("shape");
    Prng unused(0);
    Layer run({cells.at(c.attributes.at("cell")), d[0], d[1], d[2], d[3], d[3]}, unused, true, true);
    Draw draw(c.seed());
    for (auto* values : {&run.x, &run.w, &run.r, &run.bias_w, &run.bias_r, &run.h0, &run.c0}) {
      *values = draw.floats(values->size());
    }
    expect_near(computed(run, 0), c.answer("y"), 4e-6, "y");
    expect_near(computed(run, 1), c.answer("h_n"), 4e-6, "h_n");
    if (run.s.cell == RnnCell::lstm) expect_near(computed(run, 2), c.answer("c_n"), 4e-6, "c_n");
  }
}

TEST(RnnRule, RefusesOperandsThatDoNotFit) {
  struct Case {
    OpKind kind;
    Shape w, r, bias;
    uint32_t hidden;
    const char* message;
  };
  const Case cases[] = {
      {OpKind::lstm, {2, 12}, {3, 12}, {24}, 3, "input 3 is 24, must be 12"},
      {OpKind::gru, {2, 9}, {3, 9}, {9}, 3, "input 3 is 9, must be 18"},
      {OpKind::rnn, {3, 3}, {3, 3}, {3}, 3, "input 1 is 3x3, must be 2x3"},
      {OpKind::lstm, {2, 12}, {12, 3}, {12}, 3, "input 2 is 12x3, must be 3x12"},
      {OpKind::lstm, {2, 12}, {3, 12}, {12}, 0, "must be 2x0"},
      {OpKind::lstm, {2, 12}, {3, 12}, {12}, ~0u, "must be 2x17179869180"},
  };
  for (const Case& c : cases) {
    ModelBuilder build("layer", {4, 2}, 1);
    const auto zeros = [&](const char* name, const Shape& shape) {
      return build.parameter(name, shape, std::vector<float>(elements(shape)));
    };
    EXPECT_ERROR(build.finish(build.op(
                     c.kind, {turned(build, build.input()), zeros("w", c.w), zeros("r", c.r), zeros("b", c.bias)},
                     RnnAttributes{.hidden = c.hidden})),
                 ErrorCode::malformed, c.message);
  }
}

TEST(RnnRule, RefusesStatesOfAnotherBatchAndTooManyOperands) {
  const std::vector<float> zeros(12);
  ModelBuilder build("layer", {4, 2}, 1);
  const TensorId w = build.parameter("w", {2, 3}, std::vector<float>(6)),
                 r = build.parameter("r", {3, 3}, std::vector<float>(9));
  const TensorId x = turned(build, build.input()), h0 = build.parameter("h0", {4, 3}, zeros);
  EXPECT_ERROR(build.finish(build.op(OpKind::rnn, {x, w, r, kNoTensor, h0}, RnnAttributes{.hidden = 3})),
               ErrorCode::malformed, "input 4 is 4x3, must be 2x3");
  ModelBuilder many("layer", {4, 2}, 1);
  EXPECT_ERROR(many.finish(many.op(OpKind::gru, std::vector<TensorId>(7, many.input()), RnnAttributes{.hidden = 3})),
               ErrorCode::malformed, "has 7 inputs");
  ModelBuilder flat("layer", {4}, 1);
  EXPECT_ERROR(flat.finish(flat.op(OpKind::rnn, {flat.input(), flat.input(), flat.input()})), ErrorCode::malformed,
               "must have 3 dimensions");
}

TEST(RnnRule, RefusesASecondBiasThatDoesNotFit) {
  const auto refused = [](OpKind kind, const Shape& bias, const Shape& second, const std::string& message) {
    const int64_t columns = kind == OpKind::lstm ? 12 : 9;
    ModelBuilder build("layer", {4, 2}, 1);
    const auto zeros = [&](const char* name, const Shape& shape) {
      return build.parameter(name, shape, std::vector<float>(elements(shape)));
    };
    std::vector<TensorId> operands = {turned(build, build.input()), zeros("w", {2, columns}), zeros("r", {3, columns}),
                                      bias.empty() ? kNoTensor : zeros("b", bias)};
    operands.resize(kind == OpKind::lstm ? 6 : 5, kNoTensor);
    operands.push_back(zeros("second", second));
    EXPECT_ERROR(build.finish(build.op(kind, operands, RnnAttributes{.hidden = 3})), ErrorCode::malformed, message);
  };
  refused(OpKind::lstm, {12}, {24}, "input 6 is 24, must be 12");
  refused(OpKind::lstm, {}, {12}, "the recurrent bias needs the other one, input 3");
  refused(OpKind::gru, {18}, {9}, "input 3 is 18, must be 9");
  refused(OpKind::gru, {9}, {18}, "input 5 is 18, must be 9");
}

// A model of characters, as in LEAF's Shakespeare: embedding, two layers, the last step's state.
TEST(RnnRule, ACharacterModelLearns) {
  constexpr uint32_t kCharacters = 6, kHidden = 8;
  ModelBuilder build("characters", {5}, 1, DataType::int32);
  TensorId x = turned(build, build.embedding(build.input(), kCharacters, 4));
  TensorId last = x;
  for (const int64_t inputs : {4u, kHidden}) {
    const std::string name = "lstm" + std::to_string(inputs);
    const auto parameter = [&](const char* part, Shape shape) {
      const uint64_t count = elements(shape);
      return build.parameter(name + part, std::move(shape), random_values(count, 3, -0.4, 0.4));
    };
    const TensorId w = parameter(".w", {inputs, 4 * kHidden}), r = parameter(".r", {kHidden, 4 * kHidden});
    const auto outputs =
        build.outputs(OpKind::lstm, {x, w, r, parameter(".bias", {4 * kHidden})}, RnnAttributes{.hidden = kHidden});
    x = outputs[0];
    last = outputs[1];
  }
  const Model model = load_or_die(build.finish(build.dense(last, kCharacters)));
  Batch batch(model, 8, 3, 0, 1, kCharacters);
  expect_learns(model, batch);
}

}  // namespace
}  // namespace coterie::test
