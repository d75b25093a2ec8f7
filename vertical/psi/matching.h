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
#include <optional>
#include <vector>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "vertical/psi/id_set.h"
#include "vertical/psi/psi_settings.h"
#include "vertical/psi/psi_wire.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

// A matching behind some of its buckets, which goes on from there: both parties from the same one.
struct MatchedBuckets {
  uint32_t buckets = 0;        // that are done
  uint32_t buckets_all = 0;    // of the matching
  uint64_t peer_items = 0;     // that the peer has shown in them
  Digest root;                 // over the tags that matched in them: the same at both parties
  std::vector<uint32_t> rows;  // of the party's table, in the matched order
  friend bool operator==(const MatchedBuckets&, const MatchedBuckets&) = default;
};

class Matching : public Stage {
 public:
  // Once behind each bucket but the last: before next() is called again. Its `rows` are that bucket's alone. The one
  // before it may still be needed: the feature party may be one bucket behind.
  virtual std::optional<MatchedBuckets> take_checkpoint() = 0;
  // When done(): rows of this party's table. Place i is the same person at both parties.
  virtual const std::vector<uint32_t>& matched_rows() const = 0;
  // When done(): what both agree on.
  virtual const PsiOutcome& outcome() const = 0;
  // Known behind the peer's hello.
  virtual uint64_t peer_items() const = 0;
};

// `seed`: uniform and secret, another one for each job and party; the same seed sends the same bytes. `from`: with the
// rows of all of its buckets; of the same ids, settings and seed.
Result<std::unique_ptr<Matching>> start_label_matching(IdSet ids, PsiSettings settings, PartyIndex peer,
                                                       const Secret<32>& seed, MatchedBuckets from = {});
Result<std::unique_ptr<Matching>> start_feature_matching(IdSet ids, PsiSettings settings, PartyIndex peer,
                                                         const Secret<32>& seed, MatchedBuckets from = {});

}  // namespace coterie::vertical
