#include "device_sdk/runtime/permuted_inputs.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"

namespace coterie {

PermutedInputs::PermutedInputs(uint64_t examples, uint64_t example_values, uint64_t seed)
    : example_values_(example_values), prng_(seed), values_(examples * example_values), order_(examples) {
  std::iota(order_.begin(), order_.end(), uint64_t{0});
}

std::span<float> PermutedInputs::kept(uint64_t example) {
  COT_ASSERT(example < examples());
  return std::span(values_).subspan(example * example_values_, example_values_);
}

std::span<const float> PermutedInputs::kept(uint64_t example) const {
  COT_ASSERT(example < examples());
  return std::span(values_).subspan(example * example_values_, example_values_);
}

void PermutedInputs::shuffle() { prng_.shuffle(order_); }

void PermutedInputs::permute(uint64_t example, uint64_t first, uint64_t count, std::span<float> input) const {
  COT_ASSERT(first + count <= example_values_ && input.size() == example_values_);
  std::ranges::copy(kept(order_[example]).subspan(first, count), input.begin() + static_cast<ptrdiff_t>(first));
}

}  // namespace coterie
