// lstm, gru, rnn: one layer in one direction. x[t, b, i], w[i, gates h], r[h, gates h], optional bias, h0[b,
// h], of the LSTM c0[b, h], and optional bias_r -> y[t, b, h], h_n[b, h], and of the LSTM c_n[b, h]. The
// formulas: train_kernels/tables/rnn.h.
//
// With bias_r there are two biases [gates h], which train apart as PyTorch's b_ih and b_hh do. Without it the
// one bias is their sum, or the GRU's holds both, one behind the other.
//
// The forward step leaves the gates behind. The backward step writes their gradients over them, and the
// weights' step reads those: the one buffer here that two steps write.
#include <cstring>

#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

using kernels::RnnCell;
using kernels::RnnShape;

enum Input : size_t { kX, kWeight, kRecurrent, kBias, kH0, kC0 };
size_t recurrent_bias_of(OpKind kind) { return kind == OpKind::lstm ? kC0 + 1 : kC0; }  // its input: the last
enum Output : size_t { kY, kHn, kCn };

constexpr size_t kColumnGrain = 48;  // a panel of the widest vectors

int64_t gates_of(OpKind kind) { return kind == OpKind::lstm ? 4 : kind == OpKind::gru ? 3 : 1; }

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  constexpr InputRule kOptional{.is_optional = true};
  const bool is_lstm = op.kind == OpKind::lstm, is_gru = op.kind == OpKind::gru;
  COT_TRY(is_lstm ? check_inputs(inputs, {{}, {}, {}, kOptional, kOptional, kOptional, kOptional})
                  : check_inputs(inputs, {{}, {}, {}, kOptional, kOptional, kOptional}));
  COT_TRY(check_rank(inputs[kX], "input", 3, 3));
  const Shape& x = inputs[kX].shape;
  const int64_t hidden = std::get<RnnAttributes>(op.attributes).hidden, columns = gates_of(op.kind) * hidden;
  const Shape state{x[1], hidden};
  const size_t bias_r = recurrent_bias_of(op.kind);
  const bool is_split = inputs.size() > bias_r && inputs[bias_r].is_present;
  if (is_split && !inputs[kBias].is_present) return does_not_fit("the recurrent bias needs the other one, input 3");
  const Shape bias{columns};
  const Shape expected[] = {x,
                            {x[2], columns},
                            {hidden, columns},
                            is_gru && !is_split ? Shape{2 * columns} : bias,
                            state,
                            is_lstm ? state : bias,
                            bias};
  for (size_t i = kWeight; i < inputs.size(); ++i) {
    if (!inputs[i].is_present || inputs[i].shape == expected[i]) continue;
    return does_not_fit(concat({"input ", i, " is ", to_text(inputs[i].shape), ", must be ", to_text(expected[i]),
                                " for an input of ", to_text(x), " and ", hidden, " hidden"}));
  }
  std::vector<TensorType> outputs(is_lstm ? 3 : 2, {DataType::float32, state});
  outputs[kY].shape = {x[0], x[1], hidden};
  return outputs;
}

// Counts the products with w and r.
double flops(const OpInfo& op, std::span<const Operand> inputs, std::span<const TensorType> outputs) {
  const auto depth = static_cast<double>(inputs[kX].shape[2] + outputs[kY].shape[2]);
  return 2.0 * depth * static_cast<double>(gates_of(op.kind)) * static_cast<double>(elements(outputs[kY].shape));
}

RnnShape settings_of(const OpBuild& build) {
  const auto& a = build.attributes<RnnAttributes>();
  const Shape& x = build.input_shape(kX);
  const OpKind kind = build.op().kind;
  return {.cell = kind == OpKind::lstm  ? RnnCell::lstm
                  : kind == OpKind::rnn ? (a.is_relu ? RnnCell::relu : RnnCell::tanh)
                  : a.reset_after       ? RnnCell::gru_linear_before_reset
                                        : RnnCell::gru,
          .steps = static_cast<size_t>(x[0]),
          .batch = static_cast<size_t>(x[1]),
          .inputs = static_cast<size_t>(x[2]),
          .hidden = a.hidden,
          .y_stride = a.hidden,
          .reverse = a.is_reverse};
}

uint64_t y_bytes(const RnnShape& s) { return s.steps * s.batch * s.y_stride * sizeof(float); }

// The bias of r: an operand of its own, or behind that of w in a GRU's. Another cell's one bias stands for the
// sum.
float* recurrent_bias(const RnnShape& s, float* bias, float* bias_r) {
  if (bias_r != nullptr) return bias_r;
  return s.is_gru() && bias != nullptr ? bias + s.columns() : nullptr;
}

void describe(const RnnShape& s, SettingsText& text) {
  switch (s.cell) {
    case RnnCell::lstm: text.add("lstm"); break;
    case RnnCell::gru: text.add("gru"); break;
    case RnnCell::gru_linear_before_reset: text.add("gru, linear before reset"); break;
    case RnnCell::tanh: text.add("tanh"); break;
    case RnnCell::relu: text.add("relu"); break;
  }
  text.add("hidden", s.hidden).add(s.reverse ? "reversed" : "");
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<RnnShape>();
  const auto& [x, w, r, bias, bias_r, h0, c0, y, h_n, c_n, saved, scratch] = step.take<12>();
  context.kernels.rnn_forward(s, step.part,
                              {x, w, r, bias, recurrent_bias(s, bias, bias_r), h0, c0, y, h_n, c_n, saved}, scratch);
}

constexpr StepKindOf<RnnShape> kForwardStep{"rnn.forward", run_forward, describe};

void run_clear(const Step& step, const StepContext&) { std::memset(step.buffers[0], 0, y_bytes(step.as<RnnShape>())); }

constexpr StepKindOf<RnnShape> kClearStep{"rnn.clear", run_clear, describe};

void run_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<RnnShape>();
  const auto& [w, r, h0, c0, y, dy, dh_n, dc_n, saved, dx, dh0, dc0, zeros, scratch] = step.take<14>();
  context.kernels.rnn_backward(s, step.part,
                               {w, r, h0, c0, y, dy != nullptr ? dy : zeros, dh_n, dc_n, saved, dx, dh0, dc0}, scratch);
}

constexpr StepKindOf<RnnShape> kBackwardStep{"rnn.backward", run_backward, describe};

void run_backward_weights(const Step& step, const StepContext& context) {
  const auto& s = step.as<RnnShape>();
  const auto& [x, y, h0, saved, dw, dr, dbias, dbias_r, scratch] = step.take<9>();
  context.kernels.rnn_backward_weights(s, step.part,
                                       {x, y, h0, saved, dw, dr, dbias, recurrent_bias(s, dbias, dbias_r)}, scratch);
}

constexpr StepKindOf<RnnShape> kBackwardWeightsStep{"rnn.backward_weights", run_backward_weights, describe};

BufferId recurrent_bias(const OpBuild& build) { return build.input(recurrent_bias_of(build.op().kind)); }

// Input 5 of the other cells is their recurrent bias.
BufferId initial_cell(const OpBuild& build) { return build.op().kind == OpKind::lstm ? build.input(kC0) : kNoBuffer; }

// Backward reads y even if the model does not.
void forward(OpBuild& build) {
  const RnnShape s = settings_of(build);
  const BufferId saved = build.save(s.saved_floats() * sizeof(float));
  const BufferId y = build.has_output(kY) ? build.output(kY) : build.save(y_bytes(s));
  build.emit(kForwardStep, s,
             {build.input(kX), build.input(kWeight), build.input(kRecurrent), build.input(kBias), recurrent_bias(build),
              build.input(kH0), initial_cell(build), y, build.output(kHn), build.output(kCn), saved,
              build.workspace(kernels::rnn_forward_workspace(s))},
             build.split(s.batch));
}

void backward(OpBuild& build) {
  const RnnShape s = settings_of(build);
  const bool is_lstm = build.op().kind == OpKind::lstm;
  const BufferId saved = build.saved(0), y = build.has_output(kY) ? build.output(kY) : build.saved(1);
  const BufferId x = build.input(kX), h0 = build.input(kH0), dy = build.output_gradient(kY);
  BufferId zeros = kNoBuffer;
  if (dy == kNoBuffer) {
    zeros = build.scratch(y_bytes(s));
    build.emit(kClearStep, s, {zeros});
  }
  build.emit(
      kBackwardStep, s,
      {build.input(kWeight), build.input(kRecurrent), h0, initial_cell(build), y, dy, build.output_gradient(kHn),
       build.output_gradient(kCn), saved, build.input_gradient(kX), build.input_gradient(kH0),
       is_lstm ? build.input_gradient(kC0) : kNoBuffer, zeros, build.workspace(kernels::rnn_backward_workspace(s))},
      build.split(s.batch));
  const size_t bias_r = recurrent_bias_of(build.op().kind);
  if (!build.needs_gradient(kWeight) && !build.needs_gradient(kRecurrent) && !build.needs_gradient(kBias) &&
      !build.needs_gradient(bias_r)) {
    return;
  }
  build.emit(kBackwardWeightsStep, s,
             {x, y, h0, saved, build.gradient_or_scratch(kWeight), build.gradient_or_scratch(kRecurrent),
              build.input_gradient(kBias), build.has_input(bias_r) ? build.gradient_or_scratch(bias_r) : kNoBuffer,
              build.workspace(kernels::rnn_backward_weights_workspace(s))},
             build.split(s.columns(), kColumnGrain));
}

}  // namespace

const OpRule kGru{OpKind::gru, infer, flops, forward, backward};
const OpRule kLstm{OpKind::lstm, infer, flops, forward, backward};
const OpRule kRnn{OpKind::rnn, infer, flops, forward, backward};

}  // namespace coterie::ops
