#include "fl_server/runtime/norm_counts.h"

#include <string>

#include "secure/dp/encode/l2_norm.h"

namespace coterie {

bool has_norms(const Plan& plan) {
  const UpdateEncoding encoding = plan.update.encoding;
  return plan.privacy.level == SecurityLevel::none && !plan.analytics && encoding != UpdateEncoding::float32_pooled &&
         encoding != UpdateEncoding::quantized;
}

Result<double> step_norm(std::span<const float> values, const UpdateRules& rules) {
  Result<double> norm = l2_norm(values.first(rules.step_value_count()));
  if (!norm) return Error(ErrorCode::malformed, "update: has a value that is not a finite number");
  return norm;
}

NormHistogram NormCounts::counted() const {
  NormHistogram norms;
  for (size_t i = 0; i < kNormBuckets; ++i) norms.counts[i] = counts_[i].load(std::memory_order_relaxed);
  return norms;
}

void NormCounts::clear() {
  for (std::atomic<uint64_t>& count : counts_) count.store(0, std::memory_order_relaxed);
}

}  // namespace coterie
