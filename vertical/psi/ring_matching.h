// The matching of three or more parties' ids, as a stage: each ends with its rows of the people whom ALL have, in one
// order. Parties stand in a ring; kMatcher is the coordinator, which compares (blind_matcher.h).
//
//   to all                hello
//   for each bucket:
//     k - 1 rounds        masked: what came from the party before, multiplied by the own key and in another order, to
//                         the one behind; the own list first
//     to the matcher      tags of the list that all have multiplied
//     from the matcher    matches: the places in it that all lists have
//     k - 1 rounds        matches: these places, as they were in the order before, back to the party before
//   to all                result
//
// Every list goes once around, so that every id is multiplied by all keys (which commute) and every list is shuffled by
// all parties. Nobody but the matcher sees two lists that can be compared: no party learns who is in another one's
// table unless all have it, nor how many two of them share (row L2 of docs/VERTICAL.md). Matches that the matcher
// invents or orders otherwise than by tags are found: each party digests the tags of another list at the matched
// places, and all digests must be equal. Matches that it leaves out are not found.
//
// Parties with an even index speak first in a round, the others listen first: nobody waits for somebody who waits.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "vertical/psi/blind_matcher.h"
#include "vertical/psi/id_set.h"
#include "vertical/psi/psi_settings.h"
#include "vertical/psi/psi_wire.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

class RingMatching : public OrderedStage {
 public:
  // When done(): rows of this party's table. Place i is the same person at all parties.
  virtual const std::vector<uint32_t>& matched_rows() const = 0;
  // When done(): what all agree on.
  virtual const PsiOutcome& outcome() const = 0;
  // How many ids each party has, by index; known behind the hellos.
  virtual const std::vector<uint64_t>& items() const = 0;
};

// `parties`: kRingPartiesMin to kRingPartiesMax; `self` below it. `seed` as in start_label_matching().
Result<std::unique_ptr<RingMatching>> start_ring_matching(IdSet ids, PsiSettings settings, PartyIndex self,
                                                          uint32_t parties, const Secret<32>& seed);

}  // namespace coterie::vertical
