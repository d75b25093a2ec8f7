#include "secure/secagg/check_lanes.h"

#include <cstring>
#include <string>
#include <vector>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"
#include "secure/secagg/fault.h"

namespace coterie::secagg {
namespace {

// Tag `i` of `tag_count`, at most 8, before it is cut to the ring.
uint64_t tag(const Digest& session, uint64_t i, uint64_t tag_count) {
  DomainFields fields("coterie/v1/check-lanes");
  fields.add(session.view());
  const Digest digest = sha256(fields.view());
  // At least 4 bytes, with 8 tags: always wider than the ring that the tag is cut to.
  const uint64_t width = std::min<uint64_t>(8, digest.bytes.size() / tag_count);
  uint64_t value = 0;
  std::memcpy(&value, digest.bytes.data() + i * width, width);
  return value;
}

template <typename Lane>
Lane ring_mask(const SessionParameters& parameters) {
  return static_cast<Lane>(parameters.ring_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << parameters.ring_bits) - 1);
}

}  // namespace

uint64_t check_lane_count(const SessionParameters& parameters) {
  return 1 + (64 + parameters.ring_bits - 1) / parameters.ring_bits;
}

template <typename Lane>
void write_check_lanes(const SessionParameters& parameters, const Digest& session, std::span<Lane> lanes) {
  COT_ASSERT(lanes.size() == check_lane_count(parameters) && sizeof(Lane) * 8 == lane_bits(parameters));
  lanes[0] = 1;
  for (size_t i = 1; i < lanes.size(); ++i) {
    lanes[i] = static_cast<Lane>(tag(session, i - 1, lanes.size() - 1)) & ring_mask<Lane>(parameters);
  }
}

template <typename Lane>
Status verify_check_lanes(const SessionParameters& parameters, std::span<const SummedSession> sessions,
                          std::span<const Lane> lanes) {
  COT_ASSERT(lanes.size() == check_lane_count(parameters) && sizeof(Lane) * 8 == lane_bits(parameters));
  std::vector<uint64_t> expected(lanes.size());
  for (const SummedSession& summed : sessions) {
    expected[0] += summed.updates;
    for (size_t i = 1; i < lanes.size(); ++i)
      // Modulo 2^64, which the ring's 2^ring_bits divides: the mask below may cut the sum instead of its parts.
      expected[i] += tag(summed.session, i - 1, lanes.size() - 1) * summed.updates;
  }
  const auto mask = ring_mask<Lane>(parameters);
  bool good = true;
  for (size_t i = 0; i < lanes.size(); ++i) good &= (lanes[i] & mask) == (static_cast<Lane>(expected[i]) & mask);
  if (good) return {};
  return fault(Fault::sum_mismatch, "the check lanes of the sum are not those of " + std::to_string(expected[0]) +
                                        " updates: masks did not cancel, as a device masked otherwise than the others");
}

template void write_check_lanes(const SessionParameters&, const Digest&, std::span<uint16_t>);
template void write_check_lanes(const SessionParameters&, const Digest&, std::span<uint32_t>);
template void write_check_lanes(const SessionParameters&, const Digest&, std::span<uint64_t>);
template Status verify_check_lanes(const SessionParameters&, std::span<const SummedSession>, std::span<const uint16_t>);
template Status verify_check_lanes(const SessionParameters&, std::span<const SummedSession>, std::span<const uint32_t>);
template Status verify_check_lanes(const SessionParameters&, std::span<const SummedSession>, std::span<const uint64_t>);

}  // namespace coterie::secagg
