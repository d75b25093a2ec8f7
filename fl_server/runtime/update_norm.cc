#include "fl_server/runtime/update_norm.h"

#include <cmath>
#include <string>

#include "proto/messages/watch_noise.h"
#include "scheduler/job/central_noise.h"
#include "secure/dp/encode/l2_norm.h"
#include "secure/quantize/eden.h"
#include "secure/quantize/quantization_grid.h"

namespace coterie {
namespace {

// Noise is made for lanes of a watch of one height: another one, below or above, is not hidden.
Status check_scalars(std::span<const float> scalars, const UpdateRules& rules) {
  const bool is_noisy = has_noisy_watch(rules);
  const float height = is_noisy ? watch_height(rules) : 0;
  for (const float scalar : scalars) {
    if (is_noisy && std::abs(scalar) != height) {
      return Error(ErrorCode::malformed, "update: a lane of its watch is neither of the plan's two");
    }
    if (is_noisy || scalar >= 0) continue;
    return Error(ErrorCode::malformed, "update: a number that it tells beside is below 0");
  }
  return {};
}

}  // namespace

Status check_norm(std::span<const float> values, const UpdateRules& rules) {
  COT_TRY(check_scalars(values.last(rules.scalars.size()), rules));
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
