// The functions of one variable that a network applies element by element, by their names in ONNX and
// PyTorch.
#pragma once

#include <cstdint>

namespace coterie::kernels {

// The value at x. The derivative is f'(x), at a kink the one-sided value named here (as in PyTorch).
enum class Unary : uint8_t {
  relu,          // max(x, 0); 0 at 0
  relu6,         // min(max(x, 0), 6); 0 at 0 and at 6
  leaky_relu,    // x above 0, alpha x below; alpha at 0
  elu,           // x above 0, alpha (e^x - 1) below (Clevert et al., 2015); alpha at 0
  gelu_erf,      // x / 2 (1 + erf(x / sqrt 2)) (Hendrycks and Gimpel, 2016)
  gelu_tanh,     // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  sigmoid,       // 1 / (1 + e^-x)
  hard_sigmoid,  // min(max(alpha x + beta, 0), 1) (ONNX; PyTorch's has alpha 1/6, beta 1/2); 0 at the bounds
  hard_swish,    // x min(max(x / 6 + 1/2, 0), 1) (Howard et al., 2019); x / 3 + 1/2 at -3 and 3
  swish,         // x / (1 + e^-x), also called SiLU
  tanh,
  softplus,  // log(1 + e^x)
  softsign,  // x / (1 + |x|)
  clip,      // min(max(x, alpha), beta); 0 at the bounds
  sqrt,
  exp,
  log,  // natural
  abs,  // 0 at 0
  neg,
  reciprocal,
  erf,
};

struct UnaryOp {
  Unary kind;
  float alpha = 0, beta = 0;  // of the functions whose comment names them
};

// What the derivative is computed from: a runtime keeps only that for the backward pass.
enum class DerivativeReads : uint8_t { neither, x, y };

constexpr DerivativeReads derivative_reads(const UnaryOp& op) {
  switch (op.kind) {
    case Unary::neg: return DerivativeReads::neither;
    case Unary::leaky_relu:
    case Unary::elu:  // a negative alpha folds both sides of 0 onto one
      return op.alpha >= 0 ? DerivativeReads::y : DerivativeReads::x;
    case Unary::gelu_erf:
    case Unary::gelu_tanh:
    case Unary::hard_swish:
    case Unary::swish:
    case Unary::log:
    case Unary::abs:
    case Unary::erf: return DerivativeReads::x;
    default: return DerivativeReads::y;
  }
}

}  // namespace coterie::kernels
