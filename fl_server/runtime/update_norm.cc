#include "fl_server/runtime/update_norm.h"

#include <cmath>
#include <string>

#include "scheduler/job/central_noise.h"
#include "secure/dp/encode/l2_norm.h"
#include "secure/quantize/eden.h"
#include "secure/quantize/quantization_grid.h"

namespace coterie {

Status check_norm(std::span<const float> values, const UpdateRules& rules) {
  for (const float scalar : values.last(rules.scalars.size())) {
    if (scalar >= 0) continue;
    return Error(ErrorCode::malformed, "update: a number that it tells beside is below 0");
  }
  values = values.first(values.size() - rules.scalars.size());
  if (!(rules.clip_l2 > 0)) return {};
  if (rules.encoding == UpdateEncoding::quantized) {
    if (quantized_norm(values, rules) <= norm_max_of(static_cast<float>(quantized_norm_max(rules)))) return {};
    return Error(ErrorCode::malformed, "update: its L2 norm is over what rounding leaves of the plan's clip_l2, " +
                                           std::to_string(rules.clip_l2) + "; clip it first");
  }
  const double longer = rules.encoding == UpdateEncoding::eden ? kEdenNormMax : 1;
  if (rules.has_clip_bit()) {
    if (std::abs(values.back()) != rules.clip.bit) {
      return Error(ErrorCode::malformed, "update: its clip bit is neither of the plan's two");
    }
    values = values.first(values.size() - 1);
  }
  const Result<double> norm = l2_norm(values);
  if (!norm) return Error(ErrorCode::malformed, "update: has a value that is not a finite number");
  if (*norm <= longer * norm_max_of(rules.clip_l2)) return {};
  return Error(ErrorCode::malformed,
               "update: its L2 norm is over the plan's clip_l2, " + std::to_string(rules.clip_l2) + "; clip it first");
}

}  // namespace coterie
