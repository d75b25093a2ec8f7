// Roster: the adverts of a session in order, under one Merkle root, and proofs that some of them are in it.
//
// The root is the Merkle Tree Hash of RFC 9162 section 2.1.1 with SHA-256 over leaves that are DomainFields of place
// and advert. A proof shows any number of leaves at once: the hashes of the maximal subtrees in which no leaf is shown,
// from left to right. For one leaf that is as long as the RFC's audit path, for all leaves nothing.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "proto/messages/secagg.h"

namespace coterie::secagg {

Digest roster_leaf(uint32_t device, const KeyAdvert& advert);

class RosterTree {
 public:
  // At least one leaf.
  explicit RosterTree(std::vector<Digest> leaves);

  Digest root() const { return hash(0, levels_[0].size()); }
  // `shown` ascends.
  std::vector<Digest> proof(std::span<const uint32_t> shown) const;

 private:
  Digest hash(size_t begin, size_t end) const;
  void prove(size_t begin, size_t end, std::span<const uint32_t> shown, std::vector<Digest>& proof) const;

  std::vector<std::vector<Digest>> levels_;  // [h][i]: of the 2^h leaves from i * 2^h on, as far as there are so many
};

struct ShownLeaf {
  uint32_t device = 0;
  Digest leaf;
};

// The root under which `shown` (ascending, devices below `size`, at least one) and the proof's subtrees are. bad_proof
// (fault.h) if the proof is of another length than it must be. Whoever compares the root with one he knows has shown
// that the leaves are in it.
Result<Digest> root_of(uint32_t size, std::span<const ShownLeaf> shown, std::span<const Digest> proof);

}  // namespace coterie::secagg
