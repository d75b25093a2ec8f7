// LSTM, GRU and RNN.
//
// Operands: X [steps, batch, inputs], W [directions, gates hidden, inputs], R [directions, gates hidden, hidden],
// B [directions, 2 gates hidden] (of W, then of R), sequence_lens, initial_h [directions, batch, hidden], and of LSTM
// initial_c likewise. Outputs: Y [steps, directions, batch, hidden], Y_h [directions, batch, hidden], Y_c.
#include <algorithm>
#include <cmath>
#include <variant>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

using Real = double (*)(double);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double hyperbolic_tangent(double x) { return std::tanh(x); }
double rectified(double x) { return std::max(0.0, x); }

Result<Real> activation(const std::string& name) {
  if (name == "Sigmoid") return sigmoid;
  if (name == "Tanh") return hyperbolic_tangent;
  if (name == "Relu") return rectified;
  return unknown_form("activation " + name);
}

struct Layer {
  const Call& call;
  size_t steps, batch, inputs, hidden, gates, directions;
  std::vector<Real> functions;  // of one direction after the other

  size_t of_one() const { return functions.size() / directions; }
};

// The gates' W x, R h, and their biases at one step for one example, gate k at [k hidden, (k + 1) hidden).
struct Sums {
  std::vector<double> by_input, by_state, bias_of_input, bias_of_state;
};

Sums sums_of(const Layer& layer, size_t direction, const double* x, const double* h) {
  const Call& call = layer.call;
  const size_t width = layer.gates * layer.hidden;
  Sums sums{std::vector<double>(width), std::vector<double>(width), std::vector<double>(width),
            std::vector<double>(width)};
  const double* w = call.operand(1).values.data() + direction * width * layer.inputs;
  const double* r = call.operand(2).values.data() + direction * width * layer.hidden;
  for (size_t row = 0; row < width; ++row) {
    for (size_t i = 0; i < layer.inputs; ++i) sums.by_input[row] += w[row * layer.inputs + i] * x[i];
    for (size_t i = 0; i < layer.hidden; ++i) sums.by_state[row] += r[row * layer.hidden + i] * h[i];
    if (!call.has(3)) continue;
    const double* bias = call.operand(3).values.data() + direction * 2 * width;
    sums.bias_of_input[row] = bias[row];
    sums.bias_of_state[row] = bias[width + row];
  }
  return sums;
}

// One step of one example: h and c become the next.
void advance(const Layer& layer, size_t direction, const double* x, double* h, double* c) {
  const Sums sums = sums_of(layer, direction, x, h);
  const Real* functions = layer.functions.data() + direction * layer.of_one();
  const size_t hidden = layer.hidden;
  const auto whole_sum = [&](size_t row) {
    return sums.by_input[row] + sums.by_state[row] + sums.bias_of_input[row] + sums.bias_of_state[row];
  };
  if (layer.call.node.op == "RNN") {
    for (size_t i = 0; i < hidden; ++i) h[i] = functions[0](whole_sum(i));
    return;
  }
  if (layer.call.node.op == "LSTM") {
    // Peepholes, of gates i o f: the input and the forget gate see the cell as it was, the output gate as it becomes.
    const double* peepholes =
        layer.call.has(7) ? layer.call.operand(7).values.data() + direction * 3 * hidden : nullptr;
    const auto seen = [&](size_t row, double state) { return peepholes == nullptr ? 0 : peepholes[row] * state; };
    for (size_t i = 0; i < hidden; ++i) {  // gates i o f c
      const double in = functions[0](whole_sum(i) + seen(i, c[i]));
      const double forget = functions[0](whole_sum(2 * hidden + i) + seen(2 * hidden + i, c[i]));
      const double cell = functions[1](whole_sum(3 * hidden + i));
      c[i] = forget * c[i] + in * cell;
      const double out = functions[0](whole_sum(hidden + i) + seen(hidden + i, c[i]));
      h[i] = out * functions[2](c[i]);
    }
    return;
  }
  // GRU, gates z r h. What the reset gate is multiplied with depends on linear_before_reset: the state, before its
  // matrix, or what the matrix and its bias make of it.
  std::vector<double> z(hidden), reset(hidden), candidate(hidden);
  for (size_t i = 0; i < hidden; ++i) z[i] = functions[0](whole_sum(i));
  for (size_t i = 0; i < hidden; ++i) reset[i] = functions[0](whole_sum(hidden + i));
  const bool is_linear_first = layer.call.node.integer("linear_before_reset", 0) != 0;
  std::vector<double> scaled(h, h + hidden);
  for (size_t i = 0; i < hidden; ++i) scaled[i] *= reset[i];
  const Sums of_scaled = sums_of(layer, direction, x, scaled.data());
  for (size_t i = 0; i < hidden; ++i) {
    const size_t row = 2 * hidden + i;
    const double by_state = is_linear_first ? reset[i] * (sums.by_state[row] + sums.bias_of_state[row])
                                            : of_scaled.by_state[row] + sums.bias_of_state[row];
    candidate[i] = functions[1](sums.by_input[row] + sums.bias_of_input[row] + by_state);
  }
  for (size_t i = 0; i < hidden; ++i) h[i] = (1 - z[i]) * candidate[i] + z[i] * h[i];
}

Status read_activations(Layer& layer) {
  const Node& node = layer.call.node;
  std::vector<std::string> names;
  if (const auto given = node.attributes.find("activations"); given != node.attributes.end()) {
    if (const auto* list = std::get_if<std::vector<std::string>>(&given->second)) names = *list;
  }
  const std::vector<std::string> usual = node.op == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                         : node.op == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                            : std::vector<std::string>{"Tanh"};
  if (names.empty()) {
    for (size_t i = 0; i < layer.directions; ++i) names.insert(names.end(), usual.begin(), usual.end());
  }
  if (names.size() != usual.size() * layer.directions) return bad_form("activations of the wrong number");
  for (const std::string& name : names) {
    COT_ASSIGN(const Real function, activation(name));
    layer.functions.push_back(function);
  }
  return {};
}

Status check_form(const Layer& layer) {
  const Call& call = layer.call;
  const auto size = [](size_t number) { return static_cast<int64_t>(number); };
  const int64_t directions = size(layer.directions), width = size(layer.gates * layer.hidden);
  if (call.operand(1).shape != Shape{directions, width, size(layer.inputs)}) return bad_form("W of the wrong shape");
  if (call.operand(2).shape != Shape{directions, width, size(layer.hidden)}) return bad_form("R of the wrong shape");
  if (call.has(3) && call.operand(3).shape != Shape{directions, 2 * width}) return bad_form("B of the wrong shape");
  for (const size_t i : {5u, 6u}) {
    if (call.has(i) && call.operand(i).shape != Shape{directions, size(layer.batch), size(layer.hidden)})
      return bad_form("an initial state of the wrong shape");
  }
  if (call.has(4)) {
    const Array& lengths = call.operand(4);
    if (std::ranges::any_of(lengths.values, [&](double n) { return n != static_cast<double>(layer.steps); }))
      return unknown_form("sequences of different lengths");
  }
  if (call.has(7) && call.operand(7).shape != Shape{directions, 3 * size(layer.hidden)})
    return bad_form("P of the wrong shape");
  if (call.node.integer("input_forget", 0) != 0) return unknown_form("input_forget");
  if (call.node.attributes.contains("clip")) return unknown_form("clip");
  return {};
}

// The dimensions before the last in the other order: `places` are of which each is made.
Array turned(const Array& x, const std::vector<size_t>& places) {
  Shape shape;
  for (const size_t place : places) shape.push_back(x.shape[place]);
  Array y{x.element, shape, std::vector<double>(x.values.size()), x.width};
  Index from(places.size());
  for_each_index(shape, [&](const Index& index, size_t i) {
    for (size_t k = 0; k < places.size(); ++k) from[places[k]] = index[k];
    y.values[i] = x.values[offset_of(x.shape, from)];
  });
  return y;
}

Result<Outputs> compute_steps_first(const Call& call);

// With layout 1 the batch comes first everywhere.
Result<Outputs> compute_recurrent(const Call& call) {
  if (call.node.integer("layout", 0) == 0) return compute_steps_first(call);
  std::vector<Array> turns;
  turns.reserve(3);
  Call inner = call;
  for (const size_t i : {0u, 5u, 6u}) {
    if (!call.has(i)) continue;
    if (call.operand(i).rank() != 3) return bad_form("an operand that has not three dimensions");
    turns.push_back(turned(call.operand(i), {1, 0, 2}));
    inner.operands[i] = &turns.back();
  }
  COT_ASSIGN(Outputs outputs, compute_steps_first(inner));
  outputs[0] = turned(outputs[0], {2, 0, 1, 3});
  for (size_t i = 1; i < outputs.size(); ++i) outputs[i] = turned(outputs[i], {1, 0, 2});
  return outputs;
}

Result<Outputs> compute_steps_first(const Call& call) {
  COT_TRY(needs_operands(call, 3));
  const Array &x = call.operand(0), &r = call.operand(2);
  if (x.rank() != 3 || r.rank() != 3 || x.values.empty() || r.values.empty())
    return bad_form("X or R that has not three dimensions");
  const std::string direction = call.node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return bad_form("direction " + direction);
  const auto size = [](int64_t number) { return static_cast<size_t>(number); };
  Layer layer{.call = call,
              .steps = size(x.shape[0]),
              .batch = size(x.shape[1]),
              .inputs = size(x.shape[2]),
              .hidden = size(r.shape[2]),
              .gates = call.node.op == "LSTM"  ? 4u
                       : call.node.op == "GRU" ? 3u
                                               : 1u,
              .directions = direction == "bidirectional" ? 2u : 1u,
              .functions = {}};
  COT_TRY(check_form(layer));
  COT_TRY(read_activations(layer));
  const auto directions = static_cast<int64_t>(layer.directions);
  COT_ASSIGN(Array all, zeros(Element::real, {x.shape[0], directions, x.shape[1], r.shape[2]}));
  COT_ASSIGN(Array state, zeros(Element::real, {directions, x.shape[1], r.shape[2]}));
  Array cell = state;
  if (call.has(5)) state = call.operand(5);
  if (call.has(6)) cell = call.operand(6);
  for (size_t d = 0; d < layer.directions; ++d) {
    const bool is_reverse = d == 1 || direction == "reverse";
    for (size_t step = 0; step < layer.steps; ++step) {
      const size_t at = is_reverse ? layer.steps - 1 - step : step;
      for (size_t b = 0; b < layer.batch; ++b) {
        double* h = state.values.data() + (d * layer.batch + b) * layer.hidden;
        double* c = cell.values.data() + (d * layer.batch + b) * layer.hidden;
        advance(layer, d, x.values.data() + (at * layer.batch + b) * layer.inputs, h, c);
        std::copy(h, h + layer.hidden,
                  all.values.data() + ((at * layer.directions + d) * layer.batch + b) * layer.hidden);
      }
    }
  }
  Outputs outputs = one(std::move(all));
  outputs.push_back(std::move(state));
  if (call.node.op == "LSTM") outputs.push_back(std::move(cell));
  return outputs;
}

}  // namespace

Operator recurrent_operator(const std::string& op) {
  return op == "LSTM" || op == "GRU" || op == "RNN" ? compute_recurrent : nullptr;
}

}  // namespace coterie::model_import
