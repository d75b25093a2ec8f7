// Muon's update of a matrix: the momentum, made nearly orthogonal.
#pragma once

#include "device_sdk/runtime/program.h"
#include "proto/messages/plan.h"

namespace coterie {

// A matrix of `rows` * `columns` values, row by row.
struct MuonMatrix {
  size_t rows, columns;
};

// Floats, as many each as the matrix has.
struct MuonBuffers {
  BufferId gradient, values, momentum;
};

// Emits, with b = beta1 and the rate r times `learning_rate_scale`:
//   m <- b m + g;  X <- (g + b m) / (|g + b m|_F + 1e-7);
//   five times X <- 3.4445 X + (-4.775 A + 2.0315 A^2) X, where A = X X^T (of the transposed, for a matrix that is
//   taller than wide): a Newton-Schulz iteration to the nearest orthogonal matrix;
//   w <- (1 - r weight_decay) w - r 0.2 sqrt(max(rows, columns)) X.
// The factor makes a step as long as AdamW's usual one, so that both take the same learning rate. No step is cut.
// Sources: Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024; the factor and the decay:
// Liu et al., "Muon is Scalable for LLM Training", 2025, section 2.2.
void emit_muon(Program& program, Phase phase, const OptimizerSettings& settings, float learning_rate_scale,
               const MuonMatrix& matrix, const MuonBuffers& buffers);

}  // namespace coterie
