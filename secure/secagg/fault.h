// Fault: which rule of secure aggregation somebody broke, for errors that people, tests and metrics can tell apart.
//
// A fault travels as the reason of an Error (base/error.h). Its text names phase and devices by their place in the
// roster, never a key, a share or a lane.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace coterie::secagg {

enum class Fault : uint8_t {
  // Anybody's.
  bad_phase,        // a message before or after its time, or for a session that is over
  bad_session,      // of another session
  equivocation,     // a second message of a phase that says something else
  not_a_neighbour,  // about a device that has nothing to do with this one
  malformed,        // out of range, missing, twice
  // An advert's.
  bad_signature,
  bad_certificate,
  duplicate_identity,
  duplicate_key,
  low_order_point,
  // A roster's.
  bad_proof,     // the adverts shown are not those under the root
  self_missing,  // the device's own advert is not there, or changed
  wrong_degree,
  cohort_size,  // below the least the session allows, or above what secret sharing can do
  // A share's.
  share_count,  // not one for every holder
  unopenable,   // more boxes do not open than could be accidents: the others are in another session
  // A survivor set's.
  self_dropped,  // the device is asked to help unmask a sum that it is not in
  not_a_subset,  // survivors that never shared
  too_few_survivors,
  below_threshold,   // fewer of a device's holders are left than open a secret
  survivors_differ,  // another set than the one confirmed
  too_few_confirmations,
  // An opening's.
  bad_shares,           // so many wrong that the right secret cannot be told
  commitment_mismatch,  // the dealer shared something else than it advertised
  // A masked update's.
  lane_count,
  lane_range,    // bits beyond the ring's are set
  late,          // after the survivors were frozen
  sum_mismatch,  // the check lanes of the sum are wrong: masks did not cancel
};

// snake_case, stable: the enumerator's name.
std::string_view to_string(Fault fault);

// code: what it means to callers outside (refused, malformed, conflict, data_loss...).
Error fault(Fault fault, std::string text);

// The fault that an error speaks of, if it is one of ours.
std::optional<Fault> fault_of(const Error& error);

}  // namespace coterie::secagg
