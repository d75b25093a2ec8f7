// Recurrent layers over whole sequences: simple RNN, LSTM, GRU. The contract of every kernel: kernel_table.h.
//
// x[steps, batch, inputs] -> y[steps, batch, hidden]; weights w[inputs, gates * hidden], r[hidden, gates *
// hidden], biases bias_w and bias_r[gates * hidden] (PyTorch's b_ih and b_hh, ONNX's Wb and Rb; where a cell
// only uses their sum, both get the same gradient). With a = x_t w + bias_w, b = h_(t-1) r + bias_r, one term
// a gate, h = h_(t-1):
//
//   cell         gates       what it computes
//   tanh, relu   one         h_t = f(a + b)
//   lstm         i, f, g, o  i, f, o = sigmoid(a + b); g = tanh(a + b); c_t = f c_(t-1) + i g; h_t = o tanh(c_t)
//   gru          s, z, n     s, z = sigmoid(a + b); n = tanh(a_n + (s h) r_n + bias_r_n); h_t = (1 - z) n + z h
//   gru_linear_before_reset  as gru, but n = tanh(a_n + s b_n): PyTorch's GRU, ONNX's linear_before_reset = 1
//
// Sources: PyTorch's torch.nn.RNN, LSTM, GRU; ONNX operators RNN, LSTM, GRU. The gates' order is PyTorch's (s
// is its r); ONNX's LSTM has i, o, f, g and its GRU z, s, n.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/range.h"

namespace coterie::kernels {

enum class RnnCell : uint8_t { tanh, relu, lstm, gru, gru_linear_before_reset };

struct RnnShape {
  RnnCell cell;
  size_t steps, batch, inputs, hidden;
  size_t y_stride;       // floats between rows of y and of dy: hidden, or 2 * hidden if two directions interleave
  bool reverse = false;  // from the last step to the first: "t - 1" above is then the step after t

  size_t gates() const { return cell == RnnCell::lstm ? 4 : cell == RnnCell::tanh || cell == RnnCell::relu ? 1 : 3; }
  size_t columns() const { return gates() * hidden; }  // of w and r
  // A row of `saved`: [gates] (tanh, relu), [i, f, g, o, c] (lstm), [s, z, n, b_n or s h] (gru). Backward
  // puts the gradients of a + b in the gates' place, and in the GRU's last part that of b_n.
  size_t saved_stride() const { return (cell == RnnCell::lstm ? 5 : gates() == 1 ? 1 : 4) * hidden; }
  size_t saved_floats() const { return steps * batch * saved_stride(); }
  bool is_gru() const { return cell == RnnCell::gru || cell == RnnCell::gru_linear_before_reset; }
  // The step after `t` in the order of computation (t counts computed steps, not positions).
  size_t position(size_t t) const { return reverse ? steps - 1 - t : t; }
};

template <typename T>
struct RnnForward {
  const T *x, *w, *r;
  const T *bias_w, *bias_r;  // null: zeros
  const T *h0, *c0;          // [batch, hidden], null: zeros; c0 for lstm only
  T *y, *h_n, *c_n;          // h_n, c_n: the last computed step's, unless null
  T* saved;                  // saved_floats(), for backward
};

template <typename T>
struct RnnBackward {
  const T *w, *r, *h0, *c0, *y;  // as in forward
  const T *dy, *dh_n, *dc_n;     // dh_n, dc_n null: zeros
  T* saved;                      // of forward; activations in, gradients out
  T *dx, *dh0, *dc0;             // unless null
};

template <typename T>
struct RnnWeightGradients {
  const T *x, *y, *h0;
  const T* saved;                  // of backward
  T *dw, *dr, *dbias_w, *dbias_r;  // biases unless null
};

template <typename T>
struct RnnKernels {
  // Both compute the examples `examples` of the batch; operands are the whole batch's. Results are the same
  // however the batch is cut.
  void (*rnn_forward)(const RnnShape&, Range examples, const RnnForward<T>&, void* workspace);
  void (*rnn_backward)(const RnnShape&, Range examples, const RnnBackward<T>&, void* workspace);
  // Sums over all steps and examples; `columns` of the gates * hidden columns of dw, dr and the biases.
  void (*rnn_backward_weights)(const RnnShape&, Range columns, const RnnWeightGradients<T>&, void* workspace);
};

// Bytes of workspace, for any range.
size_t rnn_forward_workspace(const RnnShape& shape);
size_t rnn_backward_workspace(const RnnShape& shape);
size_t rnn_backward_weights_workspace(const RnnShape& shape);

}  // namespace coterie::kernels
