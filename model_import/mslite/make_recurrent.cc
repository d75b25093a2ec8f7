// LSTM and GRU, as the format has them of ONNX: input [steps, batch, inputs], weights [directions, gates * hidden,
// inputs] and [directions, gates * hidden, hidden], both biases in one [directions, 2 * gates * hidden], initial states
// [directions, batch, hidden]. The order of gates is ONNX's: input, output, forget, cell; update, reset, hidden. A GRU
// resets its state in front of the product (linear_before_reset 0), whatever the file was made of.
#include <algorithm>

#include "model_import/mslite/node_maker.h"

namespace coterie::model_import {
namespace {

constexpr size_t kWeights = 1, kStateWeights = 2, kBias = 3, kStates = 4;

// [batch, hidden], which the format allows of one direction, as [1, batch, hidden].
Result<std::string> state(NodeMaker& make, size_t i) {
  COT_ASSIGN(const std::string given, make.read(i));
  COT_ASSIGN(const size_t rank, make.rank_of(i));
  return rank == 2 ? make.node("Unsqueeze", {given, make.constant({0})}) : given;
}

Status make_layer(NodeMaker& make, const char* op, int64_t gates, size_t states) {
  COT_TRY(make.need_rank(0, 3));
  for (const size_t i : {kWeights, kStateWeights}) COT_TRY(make.need_rank(i, 3));
  COT_TRY(make.need_rank(kBias, 2));
  const Shape &w = make.input(kWeights).shape, &r = make.input(kStateWeights).shape, &b = make.input(kBias).shape;
  const int64_t directions = make.attributes().is_bidirectional ? 2 : 1, hidden = r[2];
  const Shape wanted_w{directions, gates * hidden, make.input(0).shape[2]},
      wanted_r{directions, gates * hidden, hidden}, wanted_b{directions, 2 * gates * hidden};
  if (hidden < 1 || w != wanted_w || r != wanted_r || b != wanted_b) {
    return does_not_fit("its weights and biases do not fit its input and one another");
  }
  std::vector<std::string> inputs;
  for (const size_t i : {size_t{0}, kWeights, kStateWeights, kBias}) {
    COT_ASSIGN(const std::string input, make.read(i));
    inputs.push_back(input);
  }
  inputs.emplace_back();  // every sequence has its full length
  for (size_t i = 0; i < states; ++i) {
    COT_ASSIGN(const std::string initial, state(make, kStates + i));
    inputs.push_back(initial);
  }
  const size_t outputs = std::min(make.op().outputs.size(), states + 1);
  const std::vector<std::string> made = make.node_with_outputs(
      outputs, op, std::move(inputs),
      {{"hidden_size", hidden}, {"direction", std::string(directions == 2 ? "bidirectional" : "forward")}});
  for (size_t i = 0; i < outputs; ++i) COT_TRY(make.define(made[i], i));
  return {};
}

Status make_lstm(NodeMaker& make) {
  if (make.input_count() == 4) return no_counterpart("weights that are one operand, as MindIR has them");
  if (make.input_count() != 6) return does_not_fit("it needs 6 inputs, has " + std::to_string(make.input_count()));
  return make_layer(make, "LSTM", 4, 2);
}

Status make_gru(NodeMaker& make) {
  if (make.input_count() > 5) return no_counterpart("lengths of sequences");
  return make_layer(make, "GRU", 3, 1);
}

}  // namespace

Result<bool> make_mslite_recurrent(NodeMaker& make) {
  if (make.op().op == MsliteOp::lstm) COT_TRY(make_lstm(make));
  else if (make.op().op == MsliteOp::gru) COT_TRY(make_gru(make));
  else return false;
  return true;
}

}  // namespace coterie::model_import
