// The matching of two parties' ids by Diffie-Hellman, as stages (vertical/stage/stage.h). Both end with the rows of the
// people they share, in one order. A matching takes turns: a party speaks, then listens.
//
//   label party                              feature party
//   hello                                 -> hello
//   for each bucket:  masked a H(x)       -> doubled b a H(x), masked b H(y)
//                     matches             ->
//   result                                -> result
//
// The label party learns the intersection and how many ids the other has in each bucket, and so does the feature party
// (row L1 of docs/VERTICAL.md); the matched order is by tags, which say nothing. Parties are taken to follow the
// protocol: one that makes ids up learns who of them is in the other's table. A bucket into which a party has put
// nothing tells that none of the bucket's ids is there; with bucket_items as by default that happens to small tables
// beside large ones alone.
//
// Memory beyond the ids: some 100 bytes an item of a bucket, and the matched rows.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "vertical/psi/id_set.h"
#include "vertical/psi/psi_settings.h"
#include "vertical/psi/psi_wire.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

class Matching : public Stage {
 public:
  // When done(): rows of this party's table. Place i is the same person at both parties.
  virtual const std::vector<uint32_t>& matched_rows() const = 0;
  // When done(): what both agree on.
  virtual const PsiOutcome& outcome() const = 0;
  // Known behind the peer's hello.
  virtual uint64_t peer_items() const = 0;
};

// `seed`: uniform and secret, another one for each job and party; the same seed sends the same bytes.
Result<std::unique_ptr<Matching>> start_label_matching(IdSet ids, PsiSettings settings, PartyIndex peer,
                                                       const Secret<32>& seed);
Result<std::unique_ptr<Matching>> start_feature_matching(IdSet ids, PsiSettings settings, PartyIndex peer,
                                                         const Secret<32>& seed);

}  // namespace coterie::vertical
