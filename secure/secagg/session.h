// What the parties of one session agree on, and what follows from it: who is whose neighbour, how many shares open a
// secret, and the session's name.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "proto/messages/privacy_rules.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/stream_cipher.h"
#include "secure/secagg/graph_parameters.h"

namespace coterie::secagg {

struct SessionParameters {
  // Digest of everything else that both ends must mean alike: job, round, attempt, model, plan, head of the privacy
  // ledger. Cohorts of one attempt share it: what tells their sessions apart is the roster. Devices that were told
  // different models are in different sessions, and their masks do not cancel (Pasquini, Francati, Ateniese, "Eluding
  // Secure Aggregation", CCS 2022).
  Digest context;
  SecurityLevel level = SecurityLevel::active;  // not none
  uint32_t survivors_min = 2;                   // no sum of fewer is ever unmasked
  // Devices of the roster that may tell the server all they know. At active levels in [kCorruptShareMin,
  // kCorruptShareMax].
  double corrupt_share = kCorruptShareMax;
  double dropout_share = 0.1;  // that may vanish
  CipherSuite suite = CipherSuite::aes256_ctr;
  uint32_t ring_bits = 32;  // sums are modulo 2^ring_bits, in lanes of 16, 32 or 64 bits
  uint64_t lane_count = 0;  // of an update, without check lanes
  // No larger roster is taken: what noise of the devices counts on. Not in the session's name, as the context binds it.
  uint32_t roster_max = kRosterSizeMax;
  // Lanes travel in ring_bits each, at most 32, without gaps (proto/codec/update/bit_packing.h): those of quantized
  // updates. Bound by the context, too.
  bool packed = false;

  bool is_active() const { return level >= SecurityLevel::active; }
};

inline constexpr uint32_t kSessionRingBitsMin = 8;
inline constexpr uint32_t kNeighboursMax = 1024;  // of one device, who chose it included

// invalid_argument, which names the field: out of range; at an active level, corrupt_share out of its range there. Both
// ends validate before they say anything: no plan takes a session below the floor.
Status validate(const SessionParameters& parameters);

// 16, 32 or 64: in memory, and what masks are streams of.
uint32_t lane_bits(const SessionParameters& parameters);
// On the wire: that, or packed ring_bits.
uint32_t wire_lane_bits(const SessionParameters& parameters);

enum class GraphKind : uint8_t {
  complete,  // everybody with everybody
  ring,      // of an order that the server draws: against a curious server
  drawn,     // each device draws its holders: against an active one
};

struct GraphShape {
  GraphKind kind = GraphKind::complete;
  uint32_t holders = 0;    // of each device; in a complete graph itself among them
  uint32_t threshold = 0;  // shares that open a secret
};

// masked: the sparsest ring there is, or a complete graph where there is none. active: complete up to
// kCompleteCohortMax, with a threshold that depends on the roster alone; drawn above, with one that follows from the
// plan's shares, and so is the plan's writer's to choose, down to what kCorruptShareMin gives: in any one session some
// device of the roster has more corrupt holders than thresholds withstand with probability 2^-41 at most, if no more
// than that share of the roster is corrupt (ADR 51). Server and devices compute it alike: a device that was shown
// another size of the roster is in another session. Errors: those of validate(); cohort_size (fault.h): a roster
// smaller than survivors_min, or one for which nothing is private enough.
Result<GraphShape> shape_for(const SessionParameters& parameters, uint32_t roster_size);

// SHA-256 of the parameters, the shape and the roster: a device computes it from what it was shown and believes no
// other.
Digest session_of(const SessionParameters& parameters, const GraphShape& shape, uint32_t roster_size,
                  const Digest& root);

}  // namespace coterie::secagg
