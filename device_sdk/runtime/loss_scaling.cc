#include "device_sdk/runtime/loss_scaling.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>

#include "base/text/concat.h"
#include "base/text/number_from_chars.h"

namespace coterie {

Result<LossScaling> parse_loss_scaling(std::string_view text) {
  if (text == "dynamic") return LossScaling{.start = 0x1p16f, .growth_steps = 2000};
  LossScaling scaling;
  const auto [end, error] = number_from_chars(text.data(), text.data() + text.size(), scaling.start);
  if (error != std::errc() || end != text.data() + text.size() || !scaling.is_on()) {
    return Error(ErrorCode::invalid_argument, concat({"the loss scale must be dynamic or a power of two, is ", text}));
  }
  COT_TRY(check_loss_scaling(scaling));
  return scaling;
}

Status check_loss_scaling(const LossScaling& scaling) {
  if (scaling == LossScaling{}) return {};
  int exponent = 0;
  const bool is_power = std::isfinite(scaling.start) && std::frexp(scaling.start, &exponent) == 0.5f;
  if (is_power && scaling.start >= 1 && scaling.start <= kLossScaleMax) return {};
  return Error(
      ErrorCode::invalid_argument,
      concat({"training: the loss scale must be a power of two from 1 to 2^24, is ", std::to_string(scaling.start)}));
}

void observe_gradient(const LossScaling& scaling, bool is_finite, LossScaleState& state) {
  if (scaling.growth_steps == 0) return;
  if (!is_finite) {
    state = {.scale = std::max(1.0f, state.scale / 2)};
  } else if (++state.good_steps == scaling.growth_steps) {
    state = {.scale = std::min(kLossScaleMax, state.scale * 2)};
  }
}

bool all_finite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000;
  bool found = false;
  for (const float value : values) found |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent;
  return !found;
}

}  // namespace coterie
