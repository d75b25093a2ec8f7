#include "aggregation/accumulate/cohort_sums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "base/assert.h"

namespace coterie {

Status CohortSums::add(std::span<const float>, uint32_t, const DeviceId&) {
  return Error(ErrorCode::invalid_argument, "update: it is not masked, and sums of cohorts are of masked ones");
}

// All lanes of its entry, which is new where the batch has no update of it. Precondition: the lock is held.
std::span<uint64_t> CohortSums::cohort_of(std::span<const uint64_t> session) {
  for (size_t first = 0; first < lanes_.size(); first += layout_.lanes()) {
    const auto entry = std::span(lanes_).subspan(first, layout_.lanes());
    if (std::ranges::equal(entry.first(CohortSumLayout::kSessionLanes), session)) return entry;
  }
  lanes_.resize(lanes_.size() + layout_.lanes());
  const auto entry = std::span(lanes_).last(layout_.lanes());
  std::ranges::copy(session, entry.begin());
  return entry;
}

void CohortSums::merge(const AnyLanes& any) {
  const auto* const lanes = std::get_if<std::span<const uint64_t>>(&any);
  COT_ASSERT(lanes != nullptr && lanes->size() % layout_.lanes() == 0);
  const std::lock_guard lock(mutex_);
  for (size_t first = 0; first < lanes->size(); first += layout_.lanes()) {
    const auto other = lanes->subspan(first, layout_.lanes());
    const auto own = cohort_of(other.first(CohortSumLayout::kSessionLanes));
    for (size_t i = CohortSumLayout::kUpdatesLane; i < own.size(); ++i) own[i] += other[i];
  }
}

// Under one lock, as entries move when another cohort is new: adding takes no longer than the lanes take to be read.
void CohortSums::merge_masked(const AnyLanes& any, const Digest& session) {
  std::array<uint64_t, CohortSumLayout::kSessionLanes> name;
  std::memcpy(name.data(), session.bytes.data(), sizeof session.bytes);
  const std::lock_guard lock(mutex_);
  const auto entry = cohort_of(name);
  ++entry[CohortSumLayout::kUpdatesLane];
  const auto sum = entry.subspan(CohortSumLayout::kSumLane);
  std::visit(
      [sum](const auto& lanes) {
        COT_ASSERT(lanes.size() == sum.size());
        std::ranges::transform(sum, lanes, sum.begin(), std::plus<uint64_t>());
      },
      any);
}

}  // namespace coterie
