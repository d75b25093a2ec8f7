// Losses of classifiers. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

// Rows (examples, or examples times steps) of one score a class.
template <typename T>
struct ClassLoss {
  size_t rows, classes;
  float label_smoothing = 0;         // in [0, 1)
  const T* class_weights = nullptr;  // [classes], null: ones
};

template <typename T>
struct LossKernels {
  // Both losses are means over the batch; d_outputs (unless null) is the gradient of that mean. `sums` gets
  // the sum over examples added. Labels are in [0, classes); for mean squared error with one output the label
  // is the target itself, otherwise the target is one-hot, and an example's loss is the mean over its
  // outputs.
  void (*softmax_cross_entropy)(size_t batch, size_t classes, const T* logits, const int32_t* labels, T* d_outputs,
                                LossSums* sums);
  void (*mean_squared_error)(size_t batch, size_t outputs, const T* y, const int32_t* labels, T* d_outputs,
                             LossSums* sums);

  // The losses below, and those of the other loss families, are sums over rows: `sums` gets the sum added,
  // and the gradient (unless null) is that of `scale` times the sum. 1 / rows as the scale makes it the mean.
  //
  // A negative label says that the row is ignored: no loss, zero gradient, not counted. The mean of PyTorch's
  // CrossEntropyLoss and NLLLoss over labels, with class weights w, is the sum divided by label_weight(): the
  // sum of w[label] over the rows that are not ignored. With targets it is the sum divided by the number of
  // rows.
  double (*label_weight)(size_t rows, const int32_t* labels, const T* class_weights);

  // With p = softmax(logits), label smoothing e and C classes, a row's loss is
  //   labels:   -(1 - e) w[label] log p[label] - e / C * sum over c of w[c] log p[c]
  //   targets:  - sum over c of w[c] ((1 - e) t[c] + e / C) log p[c]
  // and it is correct if the first of the largest logits is the label, or the first of the largest targets.
  // Source: PyTorch, torch.nn.CrossEntropyLoss.
  void (*cross_entropy)(const ClassLoss<T>&, const T* logits, const int32_t* labels, T scale, T* d_logits,
                        LossSums* sums);
  void (*cross_entropy_of_targets)(const ClassLoss<T>&, const T* logits, const T* targets, T scale, T* d_logits,
                                   LossSums* sums);
  // -w[label] x[label], x being logarithms of probabilities; smoothing is not used. Source: PyTorch,
  // torch.nn.NLLLoss.
  void (*negative_log_likelihood)(const ClassLoss<T>&, const T* log_probabilities, const int32_t* labels, T scale,
                                  T* d_log_probabilities, LossSums* sums);
};

}  // namespace coterie::kernels
