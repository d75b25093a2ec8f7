// PrivacyRules: what a plan promises about who learns what of an update, for a device to judge before it trains.
//
// They are part of the plan, and so of its digest, which the server signs and which secure aggregation binds its
// sessions to: devices that were promised different things share no sum.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "proto/messages/secagg.h"

namespace coterie {

// The share of a roster that plans of level active and above must count as corrupt: from here to here. Less would let
// whoever writes plans lower the thresholds above kCompleteRosterMax devices (ADR 51); for more there are no
// thresholds. Not a range of the wire: a device refuses such a plan with a reason of its own, and neither end makes a
// session of it.
inline constexpr double kCorruptShareMin = 0.1, kCorruptShareMax = 1.0 / 3;

// Up to so many devices all are neighbours at these levels (secure/secagg/session.h): whatever a plan says, more than
// two thirds of them must open a secret. Above, each draws its holders.
inline constexpr uint32_t kCompleteRosterMax = 255;

// How an update becomes lanes that can be masked: the fields of secure/dp/encode/encoding_terms.h, which defines them.
struct EncodingRules {
  uint32_t fraction_bits = 0;
  uint32_t ring_bits = 0;
  double clip_norm = 0;
  uint32_t weight_max = 0;
  uint32_t contributors_max = 0;
  bool rotated = false;
  friend bool operator==(const EncodingRules&, const EncodingRules&) = default;
};

struct PrivacyRules {
  SecurityLevel level = SecurityLevel::none;  // none: all else as it is here
  uint32_t cohort_min = kRosterSizeMin;       // updates that the sum of a cohort must have at least
  uint32_t roster_max = kRosterSizeMax;       // devices in the roster of a cohort, at most
  double corrupt_share = 0;                   // of the roster that may work with the server against the others
  double dropout_share = 0;                   // of the roster that may vanish
  uint8_t cipher_suite = 0;                   // of masks, as in CipherSuite; 0 at level none
  // active_dp alone; below it the lanes are those of the plan's fixed point, as without masks.
  EncodingRules encoding;
  // active_dp alone; 0 at the levels below, which promise no differential privacy.
  double noise_variance_local = 0;  // of the noise that one device adds, in squared steps of the grid
  double epsilon_round = 0;         // what one round may cost a device that takes part in it
  double delta = 0;
  friend bool operator==(const PrivacyRules&, const PrivacyRules&) = default;
};

// Ranges, the same on both ends. What they add up to (is there a graph for such shares, can the sum wrap, does the
// noise give that epsilon) is for secure/ to say.
Status validate(const PrivacyRules& rules);

}  // namespace coterie
