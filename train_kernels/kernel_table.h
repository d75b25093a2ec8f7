// The training kernels: free functions on plain pointers, one set for each instruction set, chosen once.
//
// Contract of every kernel: no allocation, no exception, no global state, any alignment; outputs are written in full
// (never read, unless a comment says "adds"); inputs and outputs do not overlap unless a comment allows it; NaN passes
// through (a maximum over values of which one is NaN is any of them). The same call on the same machine gives the
// same bits. `workspace` is scratch of at least the bytes that train_kernels/workspace.h names for the call, aligned
// for float, undefined afterwards.
//
// Calls on slices give the bits of one call for all: an element of a result that is not itself a sum over the batch
// depends on its own row, image or element alone, never on how many others are in the call. So the order of a sum over
// k, and the choice between algorithms, follow from the shape without its batch. (Of what is summed over the batch -
// the gradients of parameters - a call can compute a part of the parameters, with the same bits: see each family.)
//
// A table is the sum of its families, one header of tables/ each. Adding a kernel: a member of its family, the obvious
// loops in reference/, the fast version in simd/, a line in both fill functions, a test of the one against the other.
#pragma once

#include <span>
#include <string_view>

#include "train_kernels/tables/activation.h"
#include "train_kernels/tables/attention.h"
#include "train_kernels/tables/batch_norm.h"
#include "train_kernels/tables/binary.h"
#include "train_kernels/tables/conv2d.h"
#include "train_kernels/tables/conv_transpose2d.h"
#include "train_kernels/tables/dense.h"
#include "train_kernels/tables/elementwise.h"
#include "train_kernels/tables/elementwise_loss.h"
#include "train_kernels/tables/embedding_loss.h"
#include "train_kernels/tables/group_norm.h"
#include "train_kernels/tables/layer_norm.h"
#include "train_kernels/tables/logic.h"
#include "train_kernels/tables/loss.h"
#include "train_kernels/tables/matmul.h"
#include "train_kernels/tables/optimizer.h"
#include "train_kernels/tables/pool.h"
#include "train_kernels/tables/reduce.h"
#include "train_kernels/tables/rnn.h"
#include "train_kernels/tables/softmax.h"

namespace coterie::kernels {

template <typename T>
struct KernelTableOf : DenseKernels<T>,
                       Conv2dKernels<T>,
                       ConvTranspose2dKernels<T>,
                       MatmulKernels<T>,
                       PoolKernels<T>,
                       ElementwiseKernels<T>,
                       LossKernels<T>,
                       ElementwiseLossKernels<T>,
                       EmbeddingLossKernels<T>,
                       OptimizerKernels<T>,
                       SoftmaxKernels<T>,
                       ReduceKernels<T>,
                       LogicKernels<T>,
                       BinaryKernels<T>,
                       LayerNormKernels<T>,
                       GroupNormKernels<T>,
                       BatchNormKernels<T>,
                       ActivationKernels<T>,
                       RnnKernels<T>,
                       AttentionKernels<T> {
  std::string_view name;  // "avx512", "avx2", "sse4", "neon", "portable", "reference"
};

using KernelTable = KernelTableOf<float>;

// The best table for this CPU. Same reference on every call.
const KernelTable& kernels();

// Every fast table this CPU can run, best first: tests compare each of them with the reference.
std::span<const KernelTable> supported_kernels();

// The obvious loops (reference/), the oracle. T: float, double.
template <typename T>
const KernelTableOf<T>& reference_kernels();

}  // namespace coterie::kernels
