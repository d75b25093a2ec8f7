// Optimizer steps. The contract of every kernel: kernel_table.h.
//
// A step updates w, and the optimizer's moments, in place from the gradient g; moments begin as zeros. Every
// element is for itself, so that a tensor may be cut anywhere; what a trust ratio or a norm needs is a sum of
// its own below.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

// Adam with decoupled weight decay: w <- (1 - decay) w, then AdamStep without its weight_decay.
// decay = learning_rate * weight_decay. Source: Loshchilov and Hutter, 2019; PyTorch, torch.optim.AdamW.
struct AdamWStep {
  float beta1, beta2, epsilon, decay;
  float step_size, v_scale;  // as AdamStep's
};

// g += weight_decay * w; sum <- sum + g^2; w <- w - learning_rate * g / (sqrt(sum) + epsilon). With PyTorch's
// lr_decay, learning_rate at step t (from 1) is lr / (1 + (t - 1) lr_decay). Source: Duchi et al., 2011;
// torch.optim.Adagrad.
struct AdagradStep {
  float learning_rate, epsilon, weight_decay;
};

// g += weight_decay * w; v <- alpha * v + (1 - alpha) * g^2; d = g / (sqrt(v) + epsilon); with momentum
// b <- momentum * b + d and d = b; w <- w - learning_rate * d. Centred: m <- alpha * m + (1 - alpha) * g and
// sqrt(max(0, v - m^2)) in the place of sqrt(v). Source: Hinton, 2012; torch.optim.RMSprop.
struct RmspropStep {
  float learning_rate, alpha, epsilon, weight_decay, momentum;
};

// g += weight_decay * w; v <- rho * v + (1 - rho) * g^2; d = g * sqrt(u + epsilon) / sqrt(v + epsilon);
// u <- rho * u + (1 - rho) * d^2; w <- w - learning_rate * d. Source: Zeiler, 2012; torch.optim.Adadelta.
struct AdadeltaStep {
  float learning_rate, rho, epsilon, weight_decay;
};

// d = sign(beta1 * m + (1 - beta1) * g); w <- w - learning_rate * (d + weight_decay * w);
// m <- beta2 * m + (1 - beta2) * g. Source: Chen et al., "Symbolic Discovery of Optimization Algorithms",
// 2023.
struct LionStep {
  float learning_rate, beta1, beta2, weight_decay;
};

// The direction of LAMB: m and v as Adam's, u = m * m_scale / (sqrt(v) * v_scale + epsilon) + weight_decay *
// w, with m_scale = 1 / (1 - beta1^t) and v_scale = 1 / sqrt(1 - beta2^t). The step is then, for a whole
// tensor, w <- w - learning_rate * ratio * u (add_scaled), ratio = |w| / |u|, or 1 where either is 0. Source:
// You et al., "Large Batch Optimization for Deep Learning", 2020, algorithm 2 with phi(x) = x.
struct LambStep {
  float beta1, beta2, epsilon, weight_decay;
  float m_scale, v_scale;
};

// sum_of_squares() gives a sum for each so many elements.
inline constexpr size_t kSquaresBlock = 4096;

template <typename T>
struct OptimizerKernels {
  // v of SGD may be null when momentum is 0.
  void (*sgd_step)(size_t n, const SgdStep&, const T* g, T* w, T* v);
  void (*adam_step)(size_t n, const AdamStep&, const T* g, T* w, T* m, T* v);
  void (*adamw_step)(size_t n, const AdamWStep&, const T* g, T* w, T* m, T* v);
  void (*adagrad_step)(size_t n, const AdagradStep&, const T* g, T* w, T* sum);
  // b null: no momentum; m null: not centred.
  void (*rmsprop_step)(size_t n, const RmspropStep&, const T* g, T* w, T* v, T* b, T* m);
  void (*adadelta_step)(size_t n, const AdadeltaStep&, const T* g, T* w, T* v, T* u);
  void (*lion_step)(size_t n, const LionStep&, const T* g, T* w, T* m);
  // u may be g.
  void (*lamb_direction)(size_t n, const LambStep&, const T* g, const T* w, T* m, T* v, T* u);

  // sums[k] = the sum of x^2 over the k-th block of kSquaresBlock elements. Added up in order of k they give
  // a norm that does not depend on how x was cut, if it was cut at multiples of kSquaresBlock.
  void (*sum_of_squares)(size_t n, const T* x, double* sums);
  void (*add_scaled)(size_t n, T factor, const T* x, T* y);  // adds factor * x to y
  void (*scale_in_place)(size_t n, T factor, T* x);          // clipping by a norm
  void (*clip_in_place)(size_t n, T limit, T* x);            // into [-limit, limit]
  // root = (matrix + damping I)^(-1/4), both [n, n] (base/linear/inverse_root.h, which says what scratch is).
  void (*inverse_fourth_root)(size_t n, T damping, const T* matrix, T* root, double* scratch);
  // Adds mu * (w - w0) to g: the gradient of FedProx's mu / 2 |w - w0|^2. Source: Li et al., 2020.
  void (*add_proximal)(size_t n, T mu, const T* w, const T* w0, T* g);
};

}  // namespace coterie::kernels
