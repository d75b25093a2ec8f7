// Shampoo's update of a matrix: the gradient between two roots of what gradients were so far.
#pragma once

#include "device_sdk/runtime/program.h"
#include "proto/messages/plan.h"

namespace coterie {

// A matrix of `rows` * `columns` values, row by row.
struct ShampooMatrix {
  size_t rows, columns;
};

// Floats: `gradient` and `values` as many as the matrix has, `factors` shampoo_factor_values() of them. Factors begin
// as zeros and go on from step to step.
struct ShampooBuffers {
  BufferId gradient, values, factors;
};

// L and R of each block of the matrix (base/linear/matrix_blocks.h), and their roots: at most 8.5 a value.
uint64_t shampoo_factor_values(const ShampooMatrix& matrix);

// Whether roots are computed anew in step `step` (from 1): in the first ten, in which L and R change most, and then in
// every tenth. In between a step takes the last ones.
constexpr bool takes_roots_anew(uint64_t step) { return step <= 10 || step % 10 == 0; }

// Emits, for each block of the matrix, of [rows, columns], with the rate r times `learning_rate_scale`:
//   L <- L + G G^T;  R <- R + G^T G;  U = (L + epsilon I)^(-1/4) G (R + epsilon I)^(-1/4);
//   w <- (1 - r weight_decay) w - r 0.2 sqrt(max(rows, columns)) U.
// The factor makes the first step as long as AdamW's usual one, as Muon's does. With roots of this step |U|_F is at
// most the square root of the shorter side; with older ones it may be more, and U is then cut to that.
// Source: Gupta, Koren and Singer, "Shampoo: Preconditioned Stochastic Tensor Optimization", 2018, algorithm 1, where
// L and R begin as epsilon I; blocks and roots of now and then: Anil et al., "Scalable Second Order Optimization for
// Deep Learning", 2020.
void emit_shampoo(Program& program, Phase phase, const OptimizerSettings& settings, float learning_rate_scale,
                  const ShampooMatrix& matrix, const ShampooBuffers& buffers);

}  // namespace coterie
