// What a server tells devices of the log of their population: the records of the privacy ledger that are of its jobs,
// as a Merkle log (RFC 9162 section 2; secure/dp/ledger/population_logs.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace coterie {

// Names the first `size` records, and their order.
struct LogHead {
  uint64_t size = 0;
  Digest root;
  friend bool operator==(const LogHead&, const LogHead&) = default;
};

// A head by whoever holds the server's key (secure/identity/log_head_signature.h): two of one size and population with
// different roots show to anybody that the server keeps two ledgers.
struct SignedLogHead {
  Population population;
  LogHead head;
  Bytes signature;  // Ed25519
  friend bool operator==(const SignedLogHead&, const SignedLogHead&) = default;
};

// From a log of `before` records to one of `size`, which is to begin with it.
struct LogStep {
  uint64_t before = 0;
  uint64_t size = 0;
  friend bool operator==(const LogStep&, const LogStep&) = default;
};

// That it does (secure/merkle/merkle_proof.h).
struct LogProof {
  uint64_t before = 0;
  uint64_t size = 0;
  std::vector<Digest> hashes;  // at most limits::kLogProofHashesMax
  friend bool operator==(const LogProof&, const LogProof&) = default;
};

}  // namespace coterie
