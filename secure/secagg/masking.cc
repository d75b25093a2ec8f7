#include "secure/secagg/masking.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "secure/secagg/check_lanes.h"
#include "secure/secagg/fault.h"

namespace coterie::secagg {

template <typename Lane>
void Masking::apply(std::span<Lane> lanes, size_t part, size_t parts) const {
  COT_ASSERT(sizeof(Lane) * 8 == lane_bits(parameters_) && lanes.size() == masked_lane_count(parameters_));
  std::vector<Lane> checks(check_lane_count(parameters_));
  write_check_lanes<Lane>(parameters_, head_.session, checks);

  // Lanes of a masked update: the update's [lane_count] | check lanes. Parts meet where tiles of the key stream do, so
  // that no two threads write to one.
  const LaneRange range = part_of_lanes(lanes.size(), sizeof(Lane), part, parts);
  const size_t end = range.first + range.count;
  for (size_t i = std::max<size_t>(range.first, parameters_.lane_count); i < end; ++i) {
    lanes[i] = checks[i - parameters_.lane_count];
  }
  const std::span<Lane> own = lanes.subspan(range.first, range.count);
  masks_.apply(range.first, own);
  if (parameters_.ring_bits < sizeof(Lane) * 8) {
    const auto ring = static_cast<Lane>((uint64_t{1} << parameters_.ring_bits) - 1);
    for (Lane& lane : own) lane &= ring;
  }
}

template <typename Lane>
Status check_range(const SessionParameters& parameters, std::span<const Lane> lanes) {
  COT_ASSERT(sizeof(Lane) * 8 == lane_bits(parameters));
  if (parameters.ring_bits == sizeof(Lane) * 8) return {};
  Lane all = 0;
  for (const Lane lane : lanes) all |= lane;
  if (all >> parameters.ring_bits == 0) return {};
  return fault(Fault::lane_range, "a masked update has a lane beyond 2^" + std::to_string(parameters.ring_bits));
}

template void Masking::apply(std::span<uint16_t>, size_t, size_t) const;
template void Masking::apply(std::span<uint32_t>, size_t, size_t) const;
template void Masking::apply(std::span<uint64_t>, size_t, size_t) const;

template Status check_range(const SessionParameters&, std::span<const uint16_t>);
template Status check_range(const SessionParameters&, std::span<const uint32_t>);
template Status check_range(const SessionParameters&, std::span<const uint64_t>);

}  // namespace coterie::secagg
