#include "train_kernels/kernel_table.h"
#include "train_kernels/reference/activation.h"
#include "train_kernels/reference/attention.h"
#include "train_kernels/reference/batch_norm.h"
#include "train_kernels/reference/binary.h"
#include "train_kernels/reference/conv2d.h"
#include "train_kernels/reference/conv_transpose2d.h"
#include "train_kernels/reference/dense.h"
#include "train_kernels/reference/elementwise.h"
#include "train_kernels/reference/elementwise_loss.h"
#include "train_kernels/reference/embedding_loss.h"
#include "train_kernels/reference/group_norm.h"
#include "train_kernels/reference/layer_norm.h"
#include "train_kernels/reference/logic.h"
#include "train_kernels/reference/loss.h"
#include "train_kernels/reference/matmul.h"
#include "train_kernels/reference/optimizer.h"
#include "train_kernels/reference/pool.h"
#include "train_kernels/reference/reduce.h"
#include "train_kernels/reference/rnn.h"
#include "train_kernels/reference/softmax.h"

namespace coterie::kernels {
namespace {

template <typename T>
KernelTableOf<T> make_reference() {
  KernelTableOf<T> table{};
  table.name = "reference";
  reference::fill_dense(table);
  reference::fill_conv2d(table);
  reference::fill_conv_transpose2d(table);
  reference::fill_matmul(table);
  reference::fill_pool(table);
  reference::fill_elementwise(table);
  reference::fill_loss(table);
  reference::fill_elementwise_loss(table);
  reference::fill_embedding_loss(table);
  reference::fill_optimizer(table);
  reference::fill_softmax(table);
  reference::fill_reduce(table);
  reference::fill_logic(table);
  reference::fill_binary(table);
  reference::fill_layer_norm(table);
  reference::fill_group_norm(table);
  reference::fill_batch_norm(table);
  reference::fill_activation(table);
  reference::fill_rnn(table);
  reference::fill_attention(table);
  return table;
}

}  // namespace

template <>
const KernelTableOf<float>& reference_kernels<float>() {
  static const KernelTableOf<float> made = make_reference<float>();
  return made;
}
template <>
const KernelTableOf<double>& reference_kernels<double>() {
  static const KernelTableOf<double> made = make_reference<double>();
  return made;
}

}  // namespace coterie::kernels
