// A recurrent layer's operands and results for any float type, so that one piece of code runs fast kernels,
// the reference, and central differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "train_kernels/kernel_table.h"

namespace coterie::kernels::test {

inline constexpr RnnCell kRnnCells[] = {RnnCell::tanh, RnnCell::relu, RnnCell::lstm, RnnCell::gru,
                                        RnnCell::gru_linear_before_reset};

template <typename T>
struct RnnRun {
  using Values = std::vector<T>;

  // Weights of 1 / sqrt(hidden), as PyTorch draws them: what one step gets wrong does not grow in the next.
  RnnRun(const RnnShape& shape, Prng& prng, bool with_states, bool with_biases) : s(shape) {
    const double limit = 1 / std::sqrt(static_cast<double>(s.hidden));
    const size_t rows = s.steps * s.batch, state = s.batch * s.hidden;
    x = draw(rows * s.inputs, prng, 1);
    w = draw(s.inputs * s.columns(), prng, limit);
    r = draw(s.hidden * s.columns(), prng, limit);
    dy = draw(rows * s.y_stride, prng, 1);
    if (with_biases) {
      bias_w = draw(s.columns(), prng, limit);
      bias_r = draw(s.columns(), prng, limit);
    }
    if (with_states) {
      for (Values* values : {&h0, &c0, &dh_n, &dc_n}) *values = draw(state, prng, 1);
    }
    for (Values* values : {&h_n, &c_n, &dh0, &dc0}) values->resize(state);
    y.resize(rows * s.y_stride);
    saved.resize(s.saved_floats());
    dx.resize(x.size());
    dw.resize(w.size());
    dr.resize(r.size());
    dbias_w.resize(s.columns());
    dbias_r.resize(s.columns());
    const size_t bytes =
        std::max({rnn_forward_workspace(s), rnn_backward_workspace(s), rnn_backward_weights_workspace(s)});
    workspace.resize(bytes);
  }

  void forward(const KernelTableOf<T>& table, Range examples) {
    table.rnn_forward(s, examples,
                      {x.data(), w.data(), r.data(), or_null(bias_w), or_null(bias_r), or_null(h0), or_null(c0),
                       y.data(), h_n.data(), c_n.data(), saved.data()},
                      workspace.data());
  }
  void backward(const KernelTableOf<T>& table, Range examples) {
    table.rnn_backward(s, examples,
                       {w.data(), r.data(), or_null(h0), or_null(c0), y.data(), dy.data(), or_null(dh_n), or_null(dc_n),
                        saved.data(), dx.data(), dh0.data(), dc0.data()},
                       workspace.data());
  }
  void backward_weights(const KernelTableOf<T>& table, Range columns) {
    table.rnn_backward_weights(
        s, columns,
        {x.data(), y.data(), or_null(h0), saved.data(), dw.data(), dr.data(), dbias_w.data(), dbias_r.data()},
        workspace.data());
  }
  // All three, the batch and the columns cut at `example` and `column`.
  void run(const KernelTableOf<T>& table, size_t example = 0, size_t column = 0) {
    for (const Range part : {Range{0, example}, Range{example, s.batch}}) {
      if (part.size() > 0) forward(table, part);
    }
    for (const Range part : {Range{0, example}, Range{example, s.batch}}) {
      if (part.size() > 0) backward(table, part);
    }
    for (const Range part : {Range{0, column}, Range{column, s.columns()}}) {
      if (part.size() > 0) backward_weights(table, part);
    }
  }

  std::vector<const Values*> results() const { return {&y, &h_n, &c_n, &dx, &dh0, &dc0, &dw, &dr, &dbias_w, &dbias_r}; }

  RnnShape s;
  Values x, w, r, bias_w, bias_r, h0, c0, dy, dh_n, dc_n;
  Values y, h_n, c_n, saved, dx, dh0, dc0, dw, dr, dbias_w, dbias_r;
  std::vector<uint8_t> workspace;

 private:
  static Values draw(size_t count, Prng& prng, double limit) {
    Values values(count);
    for (T& value : values) value = static_cast<T>(static_cast<float>(prng.uniform(-limit, limit)));
    return values;
  }
  static const T* or_null(const Values& values) { return values.empty() ? nullptr : values.data(); }
};

}  // namespace coterie::kernels::test
