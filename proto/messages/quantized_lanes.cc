#include "proto/messages/quantized_lanes.h"

#include <algorithm>
#include <bit>
#include <string>

namespace coterie {
namespace {

uint32_t carried_bits(uint32_t contributors) { return static_cast<uint32_t>(std::bit_width(contributors - 1)); }

}  // namespace

Status validate(const QuantizationRules& rules) {
  const auto bad = [](const std::string& why) { return Error(ErrorCode::invalid_argument, "plan: quantized: " + why); };
  if (rules.bits < 1 || rules.bits > kQuantizedBitsMax) return bad("bits must be in [1, 16]");
  if (rules.contributors_max == 0) return {};
  if (rules.bits + carried_bits(rules.contributors_max) <= kQuantizedSumBitsMax) return {};
  return bad("a sum of " + std::to_string(rules.contributors_max) + " levels of " + std::to_string(rules.bits) +
             " bits needs more than 32 bits");
}

uint32_t sum_bits(const QuantizationRules& rules) {
  return std::max(kQuantizedSumBitsMin, rules.bits + carried_bits(rules.contributors_max));
}

uint64_t quantized_lanes(const QuantizationRules& rules, uint64_t value_count, uint32_t weight_max) {
  return value_count + weight_digits(rules, weight_max);
}

uint64_t level_max(const QuantizationRules& rules) { return (uint64_t{1} << rules.bits) - 1; }

uint32_t weight_digits(const QuantizationRules& rules, uint32_t weight_max) {
  return (static_cast<uint32_t>(std::bit_width(weight_max)) + rules.bits - 1) / rules.bits;
}

}  // namespace coterie
