// LedgerRecord: one line of the privacy ledger, which says what was released and so what is spent.
//
//   reserve   durable before noise is drawn: this attempt of a round may release so much. Counts in full from then on.
//   commit    durable with the release itself: what was really released, never less protective than what was reserved.
//   voided    nothing left and nothing will: the reserve does not count any more. After that there is no commit.
//
// Each record holds the digest of the one before, so that the digest of the last (the head) names the whole ledger:
// whoever has noted a head sees when a record is changed, taken out, or when the end is cut off.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "secure/dp/account/release.h"

namespace coterie {

enum class LedgerKind : uint8_t { reserve = 1, commit, voided };
std::string_view to_string(LedgerKind kind);

enum class LedgerMechanism : uint8_t {
  skellam = 1,
  discrete_gaussian,
  tree  // discrete Gaussian on every node of a job's tree of noise (secure/dp/noise/noise_tree.h), all in one release
};

std::string_view to_string(LedgerMechanism mechanism);  // "skellam", "discrete_gaussian", "tree"; "unknown"

// Noise on a vector of integers. Sampling is always Sampling::none(): devices come when they like.
struct LedgerRelease {
  LedgerMechanism mechanism = LedgerMechanism::discrete_gaussian;
  double variance = 0;         // the mechanism's parameter, in squared steps of the grid
  double l1_sensitivity = 0;   // in steps of the grid
  double l2_sensitivity = 0;   // of a tree: of all its nodes together
  double total_variation = 0;  // at most so far is all that was drawn from the distribution: sampler, tables
  friend auto operator<=>(const LedgerRelease&, const LedgerRelease&) = default;
};

// As the accountants know it.
Noise noise_of(const LedgerRelease& release);

struct LedgerRecord {
  uint64_t seq = 0;  // 1, 2, ...
  Digest previous;   // digest_of the record before; zeros in the first
  JobId job;
  RoundKey round;
  LedgerKind kind = LedgerKind::reserve;
  LedgerRelease release;      // a voided record repeats its reserve's
  double delta = 0;           // of the job's budget
  uint64_t contributors = 0;  // whose updates the sum holds; 0 in a reserve: not known yet
  Digest noise_commitment;    // of the noise seed, in a commit (noise_seed.h); zeros in the others
  WallTime time;
  friend bool operator==(const LedgerRecord&, const LedgerRecord&) = default;
};

// SHA-256 tree digest of the record's canonical bytes: DomainFields "coterie/v1/ledger" and all fields in the order
// above, numbers as 64 bits, reals as the bits of their IEEE 754 double.
Digest digest_of(const LedgerRecord& record);

// What can be seen of a record alone: known kind and mechanism, a release the accountants take, what each kind has and
// has not. data_loss.
Status check_record(const LedgerRecord& record);

}  // namespace coterie
