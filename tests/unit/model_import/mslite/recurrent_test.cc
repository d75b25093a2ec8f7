// LSTM and GRU, one direction and two, by plain loops over the format's cells.
#include "tests/unit/model_import/mslite/agreement.h"

namespace coterie {
namespace {

using namespace test;
using namespace model_import;

constexpr int kSteps = 4, kInputs = 3, kHidden = 2;

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

// One direction: gate `g` of unit `u`, from weights() of [directions, gates, hidden, columns].
struct Cell {
  int gates, direction;
  int row(int g, int u) const { return (direction * gates + g) * kHidden + u; }
  double of_input(const double* x, int g, int u) const {
    double sum = weight((direction * 2 * gates + g) * kHidden + u);
    for (int i = 0; i < kInputs; ++i) sum += x[i] * weight(row(g, u) * kInputs + i);
    return sum;
  }
  double of_state(const Numbers& h, int g, int u) const {
    double sum = weight((direction * 2 * gates + gates + g) * kHidden + u);
    for (int i = 0; i < kHidden; ++i) sum += h[static_cast<size_t>(i)] * weight(row(g, u) * kHidden + i);
    return sum;
  }
};

// Gates: input, output, forget, cell.
void lstm_step(const Cell& cell, const double* x, Numbers& h, Numbers& c) {
  const Numbers before = h;
  const auto gate = [&](int g, int u) { return cell.of_input(x, g, u) + cell.of_state(before, g, u); };
  for (int u = 0; u < kHidden; ++u) {
    const auto at = static_cast<size_t>(u);
    c[at] = sigmoid(gate(2, u)) * c[at] + sigmoid(gate(0, u)) * std::tanh(gate(3, u));
    h[at] = sigmoid(gate(1, u)) * std::tanh(c[at]);
  }
}

// Gates: update, reset, hidden; the state is reset in front of its product.
void gru_step(const Cell& cell, const double* x, Numbers& h) {
  const Numbers before = h;
  Numbers reset = h;
  const auto gate = [&](int g, int u) { return sigmoid(cell.of_input(x, g, u) + cell.of_state(before, g, u)); };
  for (int u = 0; u < kHidden; ++u) reset[static_cast<size_t>(u)] *= gate(1, u);
  for (int u = 0; u < kHidden; ++u) {
    const auto at = static_cast<size_t>(u);
    const double update = gate(0, u), candidate = std::tanh(cell.of_input(x, 2, u) + cell.of_state(reset, 2, u));
    h[at] = update * before[at] + (1 - update) * candidate;
  }
}

// [steps, directions, 1, hidden], or [directions, 1, hidden] of the last states.
Numbers recurrent(const Numbers& x, bool is_lstm, int directions, bool is_last) {
  Numbers y(static_cast<size_t>((is_last ? 1 : kSteps) * directions * kHidden));
  for (int d = 0; d < directions; ++d) {
    Numbers h(kHidden), c(kHidden);
    for (int t = 0; t < kSteps; ++t) {
      const int step = d == 0 ? t : kSteps - 1 - t;
      const Cell cell{is_lstm ? 4 : 3, d};
      if (is_lstm) lstm_step(cell, &x[static_cast<size_t>(step * kInputs)], h, c);
      else gru_step(cell, &x[static_cast<size_t>(step * kInputs)], h);
      for (int u = 0; u < kHidden; ++u)
        y[static_cast<size_t>(((is_last ? 0 : step) * directions + d) * kHidden + u)] = h[static_cast<size_t>(u)];
    }
  }
  return y;
}

// The batch first, before the layer and behind it.
Case layer(const char* name, bool is_lstm, int directions, bool is_last, bool is_flat = false) {
  const auto make = [=](MsliteBuild& b, uint32_t x) {
    const int gates = is_lstm ? 4 : 3;
    const uint32_t in = b.value("in", {kSteps, 1, kInputs}), w = b.weights("w", {directions, gates * kHidden, kInputs}),
                   r = b.weights("r", {directions, gates * kHidden, kHidden}),
                   bias = b.weights("bias", {directions, 2 * gates * kHidden});
    const std::vector<int32_t> state{directions, 1, kHidden},
        given = is_flat ? std::vector<int32_t>{1, kHidden} : state;
    const std::vector<float> zeros(static_cast<size_t>(directions * kHidden));
    const uint32_t h = b.reals("h", given, zeros), c = b.reals("c", given, zeros);
    const uint32_t all = b.value("all", {kSteps, directions, 1, kHidden}), last = b.value("h_last", state),
                   cell = b.value("c_last", state);
    b.op(MsliteOp::transpose, {x, b.integers("to_steps", {1, 0, 2})}, {in});
    const bool is_both = directions == 2;
    if (is_lstm) {
      b.op(MsliteOp::lstm, {in, w, r, bias, h, c}, {all, last, cell},
           [=](auto& f) { return ms::CreateLstm(f, is_both); });
    } else {
      b.op(MsliteOp::gru, {in, w, r, bias, h}, {all, last}, [=](auto& f) { return ms::CreateGru(f, is_both); });
    }
    if (is_last) {
      const uint32_t y = b.value("y", {1, directions, kHidden});
      b.op(MsliteOp::transpose, {last, b.integers("to_batch", {1, 0, 2})}, {y});
      return y;
    }
    const uint32_t y = b.value("y", {1, kSteps, directions, kHidden});
    b.op(MsliteOp::transpose, {all, b.integers("to_batch", {2, 0, 1, 3})}, {y});
    return y;
  };
  return {
      name, {1, kSteps, kInputs}, make, [=](const Numbers& x) { return recurrent(x, is_lstm, directions, is_last); }};
}

TEST(MsliteRecurrent, EachFormAgrees) {
  for (const Case& each : {layer("lstm", true, 1, false), layer("lstm, both directions", true, 2, false),
                           layer("lstm, its last state", true, 2, true), layer("gru", false, 1, false),
                           layer("gru, both directions", false, 2, false), layer("gru, its last state", false, 1, true),
                           layer("lstm, states [batch, hidden]", true, 1, false, true),
                           layer("gru, state [batch, hidden]", false, 1, true, true)}) {
    expect_all_agree(each);
  }
}

TEST(MsliteRecurrent, FormsThatAreNotReadAreNamed) {
  const auto refusal = [](size_t inputs, auto make, std::vector<int32_t> bias = {1, 8}) -> Status {
    MsliteBuild b;
    const std::vector<uint32_t> all{b.value("x", {4, 1, 3}),           b.weights("w", {1, 4, 3}),
                                    b.weights("r", {1, 4, 1}),         b.weights("bias", bias),
                                    b.reals("h", {1, 1, 1}, {0}),      b.reals("c", {1, 1, 1}, {0}),
                                    b.weights("projection", {1, 1, 1})};
    const uint32_t y = b.value("y", {4, 1, 1, 1});
    b.op(MsliteOp::lstm, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(inputs)}, {y}, make);
    COT_ASSIGN(const MsliteModel model, read_mslite(b.bytes({all[0]}, {y})));
    COT_TRY(make_graph(model));
    return {};
  };
  const auto plain = [](auto& f) { return ms::CreateLstm(f); };
  EXPECT_OK(refusal(6, plain));
  EXPECT_ERROR(refusal(4, plain), ErrorCode::invalid_argument, "node 0 (LSTM): weights that are one operand");
  EXPECT_ERROR(refusal(7, plain), ErrorCode::malformed, "it needs 6 inputs, has 7");
  EXPECT_ERROR(refusal(3, plain), ErrorCode::malformed, "it needs 4 inputs, has 3");
  EXPECT_ERROR(refusal(6, plain, {1, 4}), ErrorCode::malformed, "its weights and biases do not fit");
  EXPECT_ERROR(refusal(6, [](auto& f) { return ms::CreateLstm(f, true); }), ErrorCode::malformed, "do not fit");
  EXPECT_ERROR(refusal(6, [](auto& f) { return ms::CreateLstm(f, false, true, 3, 1, 1, 1, 0, 0.1f); }),
               ErrorCode::invalid_argument, "zoneout is not supported");
  EXPECT_ERROR(refusal(6, [](auto& f) { return ms::CreateLstm(f, false, true, 3, 1, 1, 1, 0, 0, 0, 1); }),
               ErrorCode::invalid_argument, "projections are not supported");
}

}  // namespace
}  // namespace coterie
