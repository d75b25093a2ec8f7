// UNIDIRECTIONAL_SEQUENCE_LSTM, in floats, without what few use: peepholes, projection, norms, coupled gates.
#include <array>

#include "model_import/tflite/graph_maker.h"

namespace coterie::model_import {
namespace {

constexpr size_t kInputWeights = 1, kStateWeights = 5, kPeepholes = 9, kBiases = 12, kProjection = 16, kNorms = 20;
constexpr size_t kEnd = 24;
// The format has input, forget, cell, output; ONNX input, output, forget, cell.
constexpr std::array<size_t, 4> kGates = {0, 3, 1, 2};

// The four tables behind one another, as one of [1, 4 rows, columns] or [1, 4 rows].
Result<HostTensor> joined(const GraphMaker& make, size_t first, const Shape& each) {
  HostTensor table;
  table.shape = each;
  table.shape[0] *= 4;
  table.shape.insert(table.shape.begin(), 1);
  for (const size_t gate : kGates) {
    const TfliteTensor& from = make.input(first + gate);
    if (!from.is_constant() || !is_real(from.type)) {
      return Error(ErrorCode::invalid_argument, "its table " + from.name + " must be constant floats");
    }
    if (from.shape != each)
      return Error(ErrorCode::malformed, "its table " + from.name + " has another shape than its gates have");
    for (const double value : numbers_of(from)) table.reals.push_back(static_cast<float>(value));
  }
  return table;
}

Status check_form(const GraphMaker& make) {
  const auto refused = [](const char* what) {
    return Error(ErrorCode::invalid_argument, std::string(what) + " are not supported");
  };
  COT_TRY(make.need_rank(0, 3));
  for (size_t i = 0; i < kEnd; ++i) {
    const bool is_there = make.op().has(i);
    if (i >= kInputWeights && i < kPeepholes && !is_there) return refused("coupled gates");
    if (i >= kPeepholes && i < kBiases && is_there) return refused("peepholes");
    if (i >= kProjection && i < kProjection + 2 && is_there) return refused("projections");
    if (i >= kNorms && is_there) return refused("norms within a cell");
    if (i >= kBiases && i < kProjection && !is_there) return refused("cells without biases");
    if (i >= kProjection + 2 && i < kNorms && (!is_there || !make.input(i).is_variable)) return refused("given states");
  }
  if (make.op().options.activation != TfliteActivation::tanh) return refused("cells without tanh");
  return {};
}

}  // namespace

Result<bool> make_recurrent(GraphMaker& make) {
  if (make.op().op != TfliteOp::unidirectional_sequence_lstm) return false;
  COT_TRY(check_form(make));
  const int64_t hidden = make.input(kStateWeights).shape.empty() ? 0 : make.input(kStateWeights).shape[0];
  COT_ASSIGN(HostTensor w, joined(make, kInputWeights, {hidden, make.input(0).shape[2]}));
  COT_ASSIGN(HostTensor r, joined(make, kStateWeights, {hidden, hidden}));
  COT_ASSIGN(HostTensor b, joined(make, kBiases, {hidden}));
  b.shape[1] *= 2;  // the second bias, that of the state, is zeros
  b.reals.resize(b.reals.size() * 2);
  COT_ASSIGN(std::string x, make.read(0));
  const bool is_batch_first = !make.op().options.is_time_major;
  if (is_batch_first) x = make.node("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  const std::string wn = make.parameter("weight_ih", std::move(w)), rn = make.parameter("weight_hh", std::move(r)),
                    bn = make.parameter("bias", std::move(b));
  const std::string y = make.node("LSTM", {x, wn, rn, bn}, {{"hidden_size", hidden}});  // [length, 1, batch, hidden]
  const std::string flat = make.node("Squeeze", {y, make.constant({1})});
  COT_TRY(
      make.define(is_batch_first ? make.node("Transpose", {flat}, {{"perm", std::vector<int64_t>{1, 0, 2}}}) : flat));
  return true;
}

}  // namespace coterie::model_import
