// Check lanes: a few lanes behind every update, masked with it, that tell whether a sum was unmasked right.
//
// The first is 1, so that the sum counts its updates; the others are a tag of the session, 64 bits in all or a little
// more. A sum whose masks did not cancel (a device that masked for another session, or not at all) has random lanes
// there: it passes with probability 2^-64. A device that follows the protocol in all but its update's lanes is not
// caught: nothing about a masked sum can show that.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "secure/secagg/session.h"

namespace coterie::secagg {

// How many: 1 and ceil(64 / ring_bits).
uint64_t check_lane_count(const SessionParameters& parameters);
// The lanes of a masked update: the update's and these.
inline uint64_t masked_lane_count(const SessionParameters& parameters) {
  return parameters.lane_count + check_lane_count(parameters);
}

// Writes the check lanes of one update; `lanes` are the check lanes alone. Lane is what lane_bits(parameters) says.
template <typename Lane>
void write_check_lanes(const SessionParameters& parameters, const Digest& session, std::span<Lane> lanes);

// A session in a sum, and how many of its updates are.
struct SummedSession {
  Digest session;
  uint64_t updates = 0;
  friend bool operator==(const SummedSession&, const SummedSession&) = default;
};

// sum_mismatch (fault.h) unless these are the check lanes of the sum of these sessions, modulo 2^ring_bits.
template <typename Lane>
Status verify_check_lanes(const SessionParameters& parameters, std::span<const SummedSession> sessions,
                          std::span<const Lane> lanes);

}  // namespace coterie::secagg
