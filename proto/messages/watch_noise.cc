#include "proto/messages/watch_noise.h"

#include "base/assert.h"

namespace coterie {
namespace {

constexpr double kRoundedUp = 1 + 0x1p-22;  // more than what two roundings to float may take off

float height_of(float bound, float value_abs_max) {
  return static_cast<float>(static_cast<double>(value_abs_max) / static_cast<double>(bound));
}

}  // namespace

bool has_noisy_watch(const UpdateRules& rules) {
  return !rules.scalars.empty() && rules.scalars.back().kind == ScalarKind::watch_hit && rules.scalars.back().bound > 1;
}

float watch_height(const UpdateRules& rules) {
  COT_ASSERT(has_noisy_watch(rules));
  return height_of(rules.scalars.back().bound, rules.fixed_point.value_abs_max);
}

float watch_bound(double height, float value_abs_max) {
  return static_cast<float>(static_cast<double>(value_abs_max) / height * kRoundedUp);
}

}  // namespace coterie
