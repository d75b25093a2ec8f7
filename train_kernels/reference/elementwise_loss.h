// Elementwise losses by the definition. Contracts: tables/elementwise_loss.h.
#pragma once

#include <cmath>

#include "train_kernels/tables/elementwise_loss.h"

namespace coterie::kernels::reference {

template <typename T>
struct LossAndSlope {
  T loss, slope;
};

template <typename T>
LossAndSlope<T> element_loss_at(const ElementLossShape& s, T y, T t) {
  const T d = y - t, size = std::abs(d), sign = T(d > 0) - T(d < 0), limit = T(s.threshold);
  switch (s.kind) {
    case ElementLoss::squared: return {d * d, 2 * d};
    case ElementLoss::absolute: return {size, sign};
    case ElementLoss::huber:
      if (size > limit) return {limit * (size - limit / 2), limit * sign};
      return {d * d / 2, d};
    case ElementLoss::smooth_l1:
      if (size < limit) return {d * d / (2 * limit), d / limit};
      return {size - limit / 2, sign};
    case ElementLoss::binary_cross_entropy: {
      const T yes = std::fmax(std::log(y), T(-100)), no = std::fmax(std::log1p(-y), T(-100));
      return {-t * yes - (1 - t) * no, d / std::fmax(y * (1 - y), T(1e-12))};
    }
    case ElementLoss::binary_cross_entropy_with_logits:
      return {std::fmax(y, T(0)) - y * t + std::log1p(std::exp(-std::abs(y))), 1 / (1 + std::exp(-y)) - t};
    case ElementLoss::kl_divergence: break;
  }
  return {t > 0 ? t * (std::log(t) - y) : T(0), -t};
}

template <typename T, typename Target>
void element_loss(const ElementLossShape& s, const T* y, const Target* targets, T scale, T* dy, LossSums* sums) {
  const T share = s.kind == ElementLoss::kl_divergence ? T(1) : 1 / T(s.width);
  double sum = 0;
  for (size_t i = 0; i < s.rows * s.width; ++i) {
    const auto [loss, slope] = element_loss_at(s, y[i], T(targets[i]));
    sum += static_cast<double>(loss);
    if (dy != nullptr) dy[i] = scale * share * slope;
  }
  sums->loss += sum * static_cast<double>(share);
  const bool logits = s.kind == ElementLoss::binary_cross_entropy_with_logits;
  if (s.width != 1 || (!logits && s.kind != ElementLoss::binary_cross_entropy)) return;
  for (size_t i = 0; i < s.rows; ++i) sums->correct += (y[i] > (logits ? T(0) : T(0.5))) == (T(targets[i]) > T(0.5));
}

template <typename T>
void fill_elementwise_loss(ElementwiseLossKernels<T>& table) {
  table.element_loss = element_loss<T, T>;
  table.element_loss_of_labels = element_loss<T, int32_t>;
}

}  // namespace coterie::kernels::reference
