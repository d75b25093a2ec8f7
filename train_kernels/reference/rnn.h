// Recurrent layers by the definition, one example and one step at a time. Contracts: tables/rnn.h. Unlike the
// fast kernels these allocate: the state of one example.
#pragma once

#include <cmath>
#include <vector>

#include "train_kernels/tables/rnn.h"

namespace coterie::kernels::reference {

template <typename T>
T sigmoid_of(T x) {
  return 1 / (1 + std::exp(-x));
}

// to[j] = sum over i of from[i] m[i, first + j], for j < n; m has `columns` columns. A null `from` is zeros.
template <typename T>
void row_times(size_t rows, size_t columns, size_t first, size_t n, const T* from, const T* m, T* to) {
  for (size_t j = 0; j < n; ++j) {
    to[j] = 0;
    for (size_t i = 0; from != nullptr && i < rows; ++i) to[j] += from[i] * m[i * columns + first + j];
  }
}

// to[i] += sum over j of from[j] m[i, first + j].
template <typename T>
void add_times_row(size_t rows, size_t columns, size_t first, size_t n, const T* from, const T* m, T* to) {
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < n; ++j) to[i] += from[j] * m[i * columns + first + j];
  }
}

template <typename T>
T value_or_zero(const T* values, size_t i) {
  return values == nullptr ? T(0) : values[i];
}

// One step of one example; `h` and `c` (null at the start without an initial state) are the previous step's.
template <typename T>
void rnn_cell_forward(const RnnShape& s, const RnnForward<T>& p, const T* x, const T* h, const T* c, T* y, T* saved) {
  const size_t n = s.hidden, columns = s.columns();
  std::vector<T> a(columns), b(columns), reset(n), again(n);
  row_times(s.inputs, columns, 0, columns, x, p.w, a.data());
  row_times(n, columns, 0, columns, h, p.r, b.data());
  for (size_t j = 0; j < columns; ++j) {
    a[j] += value_or_zero(p.bias_w, j);
    b[j] += value_or_zero(p.bias_r, j);
  }
  const auto sum = [&](size_t gate, size_t j) { return a[gate * n + j] + b[gate * n + j]; };
  if (s.cell == RnnCell::gru) {
    for (size_t j = 0; j < n; ++j) reset[j] = sigmoid_of(sum(0, j)) * value_or_zero(h, j);
    row_times(n, columns, 2 * n, n, reset.data(), p.r, again.data());
  }
  for (size_t j = 0; j < n; ++j) {
    if (s.cell == RnnCell::tanh) {
      y[j] = saved[j] = std::tanh(sum(0, j));
    } else if (s.cell == RnnCell::relu) {
      y[j] = saved[j] = sum(0, j) < 0 ? 0 : sum(0, j);
    } else if (s.cell == RnnCell::lstm) {
      const T i = sigmoid_of(sum(0, j)), f = sigmoid_of(sum(1, j)), g = std::tanh(sum(2, j)), o = sigmoid_of(sum(3, j));
      const T now = f * value_or_zero(c, j) + i * g;
      const T row[] = {i, f, g, o, now};
      for (size_t k = 0; k < 5; ++k) saved[k * n + j] = row[k];
      y[j] = o * std::tanh(now);
    } else {
      const bool before = s.cell == RnnCell::gru_linear_before_reset;
      const T gate = sigmoid_of(sum(0, j)), z = sigmoid_of(sum(1, j)), linear = b[2 * n + j];
      const T recurrent = before ? gate * linear : again[j] + value_or_zero(p.bias_r, 2 * n + j);
      const T candidate = std::tanh(a[2 * n + j] + recurrent);
      const T row[] = {gate, z, candidate, before ? linear : reset[j]};
      for (size_t k = 0; k < 4; ++k) saved[k * n + j] = row[k];
      y[j] = (1 - z) * candidate + z * value_or_zero(h, j);
    }
  }
}

// `dh`, `dc`: in, the gradients of this step's h and c; out, of the previous step's. `saved`: activations in,
// gradients of the gates out.
template <typename T>
void rnn_cell_backward(const RnnShape& s, const RnnBackward<T>& p, const T* h, const T* c, const T* y, T* saved, T* dh,
                       T* dc) {
  const size_t n = s.hidden, columns = s.columns();
  std::vector<T> before(dh, dh + n), through(n);
  for (size_t j = 0; j < n; ++j) {
    T* at = saved + j;
    dh[j] = 0;
    if (s.cell == RnnCell::tanh) {
      at[0] = before[j] * (1 - y[j] * y[j]);
    } else if (s.cell == RnnCell::relu) {
      at[0] = y[j] > 0 ? before[j] : 0;
    } else if (s.cell == RnnCell::lstm) {
      const T i = at[0], f = at[n], g = at[2 * n], o = at[3 * n], squashed = std::tanh(at[4 * n]);
      const T d = dc[j] + before[j] * o * (1 - squashed * squashed);
      at[0] = d * g * i * (1 - i);
      at[n] = d * value_or_zero(c, j) * f * (1 - f);
      at[2 * n] = d * i * (1 - g * g);
      at[3 * n] = before[j] * squashed * o * (1 - o);
      dc[j] = d * f;
    } else {
      const T z = at[n], candidate = at[2 * n];
      dh[j] = before[j] * z;
      at[n] = before[j] * (value_or_zero(h, j) - candidate) * z * (1 - z);
      at[2 * n] = before[j] * (1 - z) * (1 - candidate * candidate);
    }
  }
  if (s.cell == RnnCell::gru) add_times_row(n, columns, 2 * n, n, saved + 2 * n, p.r, through.data());
  for (size_t j = 0; s.is_gru() && j < n; ++j) {
    T* at = saved + j;
    const T reset = at[0], slope = reset * (1 - reset);
    if (s.cell == RnnCell::gru) {
      at[0] = through[j] * value_or_zero(h, j) * slope;
      dh[j] += through[j] * reset;
    } else {
      at[0] = at[2 * n] * at[3 * n] * slope;
      at[3 * n] = at[2 * n] * reset;
    }
  }
  add_times_row(n, columns, 0, s.is_gru() ? 2 * n : columns, saved, p.r, dh);
  if (s.cell == RnnCell::gru_linear_before_reset) add_times_row(n, columns, 2 * n, n, saved + 3 * n, p.r, dh);
}

template <typename T>
void rnn_forward(const RnnShape& s, Range examples, const RnnForward<T>& p, void*) {
  const size_t n = s.hidden;
  for (size_t b = examples.begin; b < examples.end; ++b) {
    const T* h = p.h0 == nullptr ? nullptr : p.h0 + b * n;
    const T* c = p.c0 == nullptr ? nullptr : p.c0 + b * n;
    for (size_t t = 0; t < s.steps; ++t) {
      const size_t row = s.position(t) * s.batch + b;
      T* saved = p.saved + row * s.saved_stride();
      rnn_cell_forward(s, p, p.x + row * s.inputs, h, c, p.y + row * s.y_stride, saved);
      h = p.y + row * s.y_stride;
      c = saved + 4 * n;  // read by lstm only
    }
    for (size_t j = 0; j < n; ++j) {
      if (p.h_n != nullptr) p.h_n[b * n + j] = h[j];
      if (p.c_n != nullptr && s.cell == RnnCell::lstm) p.c_n[b * n + j] = c[j];
    }
  }
}

template <typename T>
void rnn_backward(const RnnShape& s, Range examples, const RnnBackward<T>& p, void*) {
  const size_t n = s.hidden, stride = s.saved_stride();
  for (size_t b = examples.begin; b < examples.end; ++b) {
    std::vector<T> dh(n), dc(n);
    for (size_t j = 0; j < n; ++j) {
      dh[j] = value_or_zero(p.dh_n, b * n + j);
      dc[j] = value_or_zero(p.dc_n, b * n + j);
    }
    for (size_t t = s.steps; t-- > 0;) {
      const size_t row = s.position(t) * s.batch + b;
      const size_t before = t == 0 ? 0 : s.position(t - 1) * s.batch + b;
      const T* h = t > 0 ? p.y + before * s.y_stride : p.h0 == nullptr ? nullptr : p.h0 + b * n;
      const T* c = t > 0 ? p.saved + before * stride + 4 * n : p.c0 == nullptr ? nullptr : p.c0 + b * n;
      for (size_t j = 0; j < n; ++j) dh[j] += p.dy[row * s.y_stride + j];
      T* saved = p.saved + row * stride;
      rnn_cell_backward(s, p, h, c, p.y + row * s.y_stride, saved, dh.data(), dc.data());
      if (p.dx == nullptr) continue;
      T* dx = p.dx + row * s.inputs;
      for (size_t i = 0; i < s.inputs; ++i) dx[i] = 0;
      add_times_row(s.inputs, s.columns(), 0, s.columns(), saved, p.w, dx);
    }
    for (size_t j = 0; j < n; ++j) {
      if (p.dh0 != nullptr) p.dh0[b * n + j] = dh[j];
      if (p.dc0 != nullptr && s.cell == RnnCell::lstm) p.dc0[b * n + j] = dc[j];
    }
  }
}

template <typename T>
void rnn_backward_weights(const RnnShape& s, Range columns, const RnnWeightGradients<T>& p, void*) {
  const size_t n = s.hidden, all = s.columns(), stride = s.saved_stride();
  for (size_t column = columns.begin; column < columns.end; ++column) {
    const bool candidate = s.is_gru() && column >= 2 * n;
    const size_t recurrent = candidate && s.cell == RnnCell::gru_linear_before_reset ? column + n : column;
    if (p.dbias_w != nullptr) p.dbias_w[column] = 0;
    if (p.dbias_r != nullptr) p.dbias_r[column] = 0;
    for (size_t i = 0; i < s.inputs; ++i) p.dw[i * all + column] = 0;
    for (size_t i = 0; i < n; ++i) p.dr[i * all + column] = 0;
    for (size_t t = 0; t < s.steps; ++t) {
      for (size_t b = 0; b < s.batch; ++b) {
        const size_t row = s.position(t) * s.batch + b;
        const T* saved = p.saved + row * stride;
        const T* h = t > 0             ? p.y + (s.position(t - 1) * s.batch + b) * s.y_stride
                     : p.h0 != nullptr ? p.h0 + b * n
                                       : nullptr;
        if (candidate && s.cell == RnnCell::gru) h = saved + 3 * n;  // reset gate times h
        for (size_t i = 0; i < s.inputs; ++i) p.dw[i * all + column] += p.x[row * s.inputs + i] * saved[column];
        for (size_t i = 0; i < n; ++i) p.dr[i * all + column] += value_or_zero(h, i) * saved[recurrent];
        if (p.dbias_w != nullptr) p.dbias_w[column] += saved[column];
        if (p.dbias_r != nullptr) p.dbias_r[column] += saved[recurrent];
      }
    }
  }
}

template <typename T>
void fill_rnn(RnnKernels<T>& table) {
  table.rnn_forward = rnn_forward<T>;
  table.rnn_backward = rnn_backward<T>;
  table.rnn_backward_weights = rnn_backward_weights<T>;
}

}  // namespace coterie::kernels::reference
