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
void mean_squared_error(size_t batch, size_t outputs, const T* y, const int32_t* labels, T* d_outputs,
                        LossSums* sums) {
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
void fill_loss(LossKernels<T>& table) {
  table.softmax_cross_entropy = softmax_cross_entropy<T>;
  table.mean_squared_error = mean_squared_error<T>;
}

}  // namespace coterie::kernels::reference
