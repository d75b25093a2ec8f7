#include "aggregation/accumulate/kept_updates.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "base/assert.h"

namespace coterie {
namespace {

static_assert(std::endian::native == std::endian::little);  // lanes are stored as they lie

Status check_values(std::span<const float> values, float abs_max) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::abs(values[i]) <= abs_max) continue;  // false for what is no number
    return Error(ErrorCode::malformed, "update: value " + std::to_string(i) + " is " + std::to_string(values[i]) +
                                           ", beyond the plan's " + std::to_string(abs_max));
  }
  return {};
}

}  // namespace

Status KeptUpdates::add(std::span<const float> values, uint32_t weight, const DeviceId& from) {
  COT_ASSERT(values.size() == layout_.value_count && weight >= 1 && weight <= spec_.weight_max);
  // Before the lock: nothing has been added when an update is refused, and others need not wait for the look at its
  // values.
  COT_TRY(check_values(values, spec_.value_abs_max));
  const std::lock_guard lock(mutex_);
  const size_t first = lanes_.size();
  lanes_.resize(first + layout_.lanes());
  uint64_t* const kept = lanes_.data() + first;
  std::memcpy(kept, from.bytes.data(), sizeof from.bytes);
  kept[KeptLayout::kWeightLane] = weight;
  if (!values.empty()) std::memcpy(kept + KeptLayout::kValuesLane, values.data(), values.size_bytes());
  return {};
}

void KeptUpdates::merge(const AnyLanes& any) {
  const auto* const lanes = std::get_if<std::span<const uint64_t>>(&any);
  COT_ASSERT(lanes != nullptr && lanes->size() % layout_.lanes() == 0);
  const std::lock_guard lock(mutex_);
  lanes_.insert(lanes_.end(), lanes->begin(), lanes->end());
}

// The memory stays for the next batch of the round; it goes with the round.
void KeptUpdates::clear() { lanes_.clear(); }

}  // namespace coterie
