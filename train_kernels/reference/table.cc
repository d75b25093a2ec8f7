#include "train_kernels/kernel_table.h"
#include "train_kernels/reference/conv2d.h"
#include "train_kernels/reference/dense.h"
#include "train_kernels/reference/elementwise.h"
#include "train_kernels/reference/loss.h"
#include "train_kernels/reference/pool.h"

namespace coterie::kernels {
namespace {

template <typename T>
constexpr KernelTableOf<T> kReference = {
    .name = "reference",
    .dense_forward = reference::dense_forward<T>,
    .dense_backward_input = reference::dense_backward_input<T>,
    .dense_backward_weights = reference::dense_backward_weights<T>,
    .conv2d_forward = reference::conv2d_forward<T>,
    .conv2d_backward_input = reference::conv2d_backward_input<T>,
    .conv2d_backward_weights = reference::conv2d_backward_weights<T>,
    .max_pool2d_forward = reference::max_pool2d_forward<T>,
    .max_pool2d_backward = reference::max_pool2d_backward<T>,
    .average_pool2d_forward = reference::average_pool2d_forward<T>,
    .average_pool2d_backward = reference::average_pool2d_backward<T>,
    .relu_forward = reference::relu_forward<T>,
    .relu_backward = reference::relu_backward<T>,
    .add = reference::add<T>,
    .accumulate = reference::accumulate<T>,
    .softmax_cross_entropy = reference::softmax_cross_entropy<T>,
    .mean_squared_error = reference::mean_squared_error<T>,
    .sgd_step = reference::sgd_step<T>,
    .adam_step = reference::adam_step<T>,
};

}  // namespace

template <>
const KernelTableOf<float>& reference_kernels<float>() {
  return kReference<float>;
}
template <>
const KernelTableOf<double>& reference_kernels<double>() {
  return kReference<double>;
}

}  // namespace coterie::kernels
