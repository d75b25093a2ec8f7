// Losses by the definition. Contracts: tables/loss.h.
#pragma once

#include <cmath>

#include "train_kernels/shapes.h"
#include "train_kernels/tables/loss.h"

namespace coterie::kernels::reference {

// The index of the largest value, the first of equals.
template <typename T>
size_t index_of_max(size_t n, const T* values) {
  size_t best = 0;
  for (size_t i = 1; i < n; ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

// loss = log(sum exp(z)) - z[label], gradient = (softmax(z) - onehot(label)) / batch.
template <typename T>
void softmax_cross_entropy(size_t batch, size_t classes, const T* logits, const int32_t* labels, T* d_outputs,
                           LossSums* sums) {
  for (size_t b = 0; b < batch; ++b) {
    const T* z = logits + b * classes;
    const size_t label = static_cast<size_t>(labels[b]), best = index_of_max(classes, z);
    T sum = 0;
    for (size_t i = 0; i < classes; ++i) sum += std::exp(z[i] - z[best]);
    sums->loss += static_cast<double>(std::log(sum) + z[best] - z[label]);
    sums->correct += best == label;
    if (d_outputs == nullptr) continue;
    for (size_t i = 0; i < classes; ++i) {
      d_outputs[b * classes + i] = (std::exp(z[i] - z[best]) / sum - T(i == label)) / T(batch);
    }
  }
}

template <typename T>
void mean_squared_error(size_t batch, size_t outputs, const T* y, const int32_t* labels, T* d_outputs, LossSums* sums) {
  for (size_t b = 0; b < batch; ++b) {
    T sum = 0;
    for (size_t i = 0; i < outputs; ++i) {
      const T target = outputs == 1 ? T(labels[b]) : T(i == static_cast<size_t>(labels[b]));
      const T difference = y[b * outputs + i] - target;
      sum += difference * difference;
      if (d_outputs != nullptr) d_outputs[b * outputs + i] = 2 * difference / T(batch * outputs);
    }
    sums->loss += static_cast<double>(sum / T(outputs));
    if (outputs > 1) sums->correct += index_of_max(outputs, y + b * outputs) == static_cast<size_t>(labels[b]);
  }
}

template <typename T>
T class_weight(const ClassLoss<T>& s, size_t c) {
  return s.class_weights == nullptr ? T(1) : s.class_weights[c];
}

template <typename T>
double label_weight(size_t rows, const int32_t* labels, const T* class_weights) {
  double sum = 0;
  for (size_t row = 0; row < rows; ++row) {
    if (labels[row] < 0) continue;
    sum += class_weights == nullptr ? 1 : static_cast<double>(class_weights[labels[row]]);
  }
  return sum;
}

// With q[c] the weight of -log p[c]: loss = sum q[c] (log sum exp(z) - z[c]), gradient = p[c] sum(q) - q[c].
// weight_of(c) is q[c].
template <typename T, typename WeightOf>
void cross_entropy_of_row(size_t classes, const T* z, const WeightOf& weight_of, T scale, T* dz, LossSums* sums) {
  const T top = z[index_of_max(classes, z)];
  T sum = 0, weight = 0, loss = 0;
  for (size_t c = 0; c < classes; ++c) {
    sum += std::exp(z[c] - top);
    weight += weight_of(c);
  }
  for (size_t c = 0; c < classes; ++c) {
    if (weight_of(c) != 0) loss += weight_of(c) * (std::log(sum) + top - z[c]);
    if (dz != nullptr) dz[c] = scale * (weight * std::exp(z[c] - top) / sum - weight_of(c));
  }
  sums->loss += static_cast<double>(loss);
}

template <typename T>
void cross_entropy(const ClassLoss<T>& s, const T* logits, const int32_t* labels, T scale, T* d_logits,
                   LossSums* sums) {
  const T smoothing = T(s.label_smoothing), spread = smoothing / T(s.classes);
  for (size_t row = 0; row < s.rows; ++row) {
    const T* z = logits + row * s.classes;
    T* dz = d_logits == nullptr ? nullptr : d_logits + row * s.classes;
    if (labels[row] < 0) {
      for (size_t c = 0; dz != nullptr && c < s.classes; ++c) dz[c] = 0;
      continue;
    }
    const size_t label = static_cast<size_t>(labels[row]);
    const auto weight_of = [&](size_t c) {
      return class_weight(s, c) * (spread + (c == label ? 1 - smoothing : T(0)));
    };
    cross_entropy_of_row(s.classes, z, weight_of, scale, dz, sums);
    sums->correct += index_of_max(s.classes, z) == label;
  }
}

template <typename T>
void cross_entropy_of_targets(const ClassLoss<T>& s, const T* logits, const T* targets, T scale, T* d_logits,
                              LossSums* sums) {
  const T smoothing = T(s.label_smoothing), spread = smoothing / T(s.classes);
  for (size_t row = 0; row < s.rows; ++row) {
    const T *z = logits + row * s.classes, *t = targets + row * s.classes;
    const auto weight_of = [&](size_t c) { return class_weight(s, c) * (spread + (1 - smoothing) * t[c]); };
    T* dz = d_logits == nullptr ? nullptr : d_logits + row * s.classes;
    cross_entropy_of_row(s.classes, z, weight_of, scale, dz, sums);
    sums->correct += index_of_max(s.classes, z) == index_of_max(s.classes, t);
  }
}

template <typename T>
void negative_log_likelihood(const ClassLoss<T>& s, const T* x, const int32_t* labels, T scale, T* dx, LossSums* sums) {
  for (size_t row = 0; row < s.rows; ++row) {
    for (size_t c = 0; dx != nullptr && c < s.classes; ++c) dx[row * s.classes + c] = 0;
    if (labels[row] < 0) continue;
    const size_t label = static_cast<size_t>(labels[row]);
    const T weight = class_weight(s, label);
    sums->loss -= static_cast<double>(weight * x[row * s.classes + label]);
    sums->correct += index_of_max(s.classes, x + row * s.classes) == label;
    if (dx != nullptr) dx[row * s.classes + label] = -scale * weight;
  }
}

template <typename T>
void fill_loss(LossKernels<T>& table) {
  table.softmax_cross_entropy = softmax_cross_entropy<T>;
  table.mean_squared_error = mean_squared_error<T>;
  table.label_weight = label_weight<T>;
  table.cross_entropy = cross_entropy<T>;
  table.cross_entropy_of_targets = cross_entropy_of_targets<T>;
  table.negative_log_likelihood = negative_log_likelihood<T>;
}

}  // namespace coterie::kernels::reference
