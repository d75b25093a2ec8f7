// Losses with their gradients. Contracts: kernel_table.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/loss.cc"
#include "hwy/foreach_target.h"

#include <cmath>

#include "hwy/contrib/math/math-inl.h"
#include "train_kernels/simd/cross_entropy_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/simd/vector_inl.h"
#include "train_kernels/tables/loss.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// The first index of the largest value.
HWY_INLINE size_t index_of_max(const float* values, size_t n) {
  size_t best = 0;
  for (size_t i = 1; i < n; ++i) best = values[i] > values[best] ? i : best;
  return best;
}

// to[i] = exp(z[i] - top), unless `to` is null; returns their sum.
HWY_INLINE float exponentials(const float* z, size_t n, float top, float* to) {
  const Tag d;
  const Vector shift = hn::Set(d, top);
  Vector sums = hn::Zero(d);
  for (size_t i = 0; i < n; i += kLanes) {
    const Part part(HWY_MIN(kLanes, n - i));
    const Vector e = hn::Exp(d, hn::Sub(part.load(z + i), shift));
    sums = hn::Add(sums, part.clear_rest(e));
    if (to != nullptr) part.store(e, to + i);
  }
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

// logits: [batch, classes]; labels: [batch]; d_outputs: [batch, classes] or null. The exponentials are written where
// the gradient goes, so the gradient (softmax - one-hot) / batch needs no second exponential.
void softmax_cross_entropy(size_t batch, size_t classes, const float* logits, const int32_t* labels, float* d_outputs,
                           LossSums* sums) {
  for (size_t b = 0; b < batch; ++b) {
    const float* z = logits + b * classes;
    float* dz = d_outputs == nullptr ? nullptr : d_outputs + b * classes;
    const size_t label = static_cast<size_t>(labels[b]), best = index_of_max(z, classes);
    // The largest logit goes out of all exponents: none overflows, and the sum is at least 1.
    const float sum = exponentials(z, classes, z[best], dz);
    sums->loss += static_cast<double>(std::log(sum) + (z[best] - z[label]));
    sums->correct += best == label ? 1 : 0;
    if (dz == nullptr) continue;
    const float scale = 1.0f / (sum * static_cast<float>(batch));
    for (size_t i = 0; i < classes; ++i) dz[i] *= scale;
    dz[label] -= 1.0f / static_cast<float>(batch);
  }
}

// y: [batch, outputs]; labels: [batch]; d_outputs: [batch, outputs] or null
void mean_squared_error(size_t batch, size_t outputs, const float* y, const int32_t* labels, float* d_outputs,
                        LossSums* sums) {
  const float scale = 2.0f / static_cast<float>(batch * outputs);
  for (size_t b = 0; b < batch; ++b) {
    const float* row = y + b * outputs;
    const size_t label = static_cast<size_t>(labels[b]);
    float sum = 0;
    for (size_t i = 0; i < outputs; ++i) {
      const float target = outputs == 1 ? static_cast<float>(labels[b]) : (i == label ? 1.0f : 0.0f);
      const float difference = row[i] - target;
      sum += difference * difference;
      if (d_outputs != nullptr) d_outputs[b * outputs + i] = scale * difference;
    }
    sums->loss += static_cast<double>(sum / static_cast<float>(outputs));
    // One output is a number, which is never simply right or wrong.
    if (outputs > 1) sums->correct += index_of_max(row, outputs) == label ? 1 : 0;
  }
}

}  // namespace

void fill_loss_target(LossKernels<float>& table) {
  COT_SET(softmax_cross_entropy, softmax_cross_entropy);
  COT_SET(mean_squared_error, mean_squared_error);
  COT_SET(label_weight, label_weight);
  COT_SET(cross_entropy, cross_entropy);
  COT_SET(cross_entropy_of_targets, cross_entropy_of_targets);
  COT_SET(negative_log_likelihood, negative_log_likelihood);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(loss, LossKernels)
}  // namespace coterie::kernels::simd
#endif
