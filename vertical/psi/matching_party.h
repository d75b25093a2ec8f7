// What both sides of a matching do alike: the agreement at its begin, blinding of a bucket, the result at its end.
#pragma once

#include <optional>
#include <utility>

#include "secure/crypto/digest.h"
#include "vertical/psi/blinding.h"
#include "vertical/psi/matching.h"

namespace coterie::vertical {

class MatchingParty : public Matching {
 public:
  const std::vector<uint32_t>& matched_rows() const override { return matched_; }
  const PsiOutcome& outcome() const override { return outcome_; }
  uint64_t peer_items() const override { return peer_items_; }
  std::optional<MatchedBuckets> take_checkpoint() override { return std::exchange(checkpoint_, std::nullopt); }

 protected:
  MatchingParty(IdSet ids, PsiSettings settings, PartyIndex peer, const Secret<32>& seed, MatchedBuckets from)
      : peer_(peer),
        settings_(std::move(settings)),
        ids_(std::move(ids)),
        blinding_(seed),
        peer_items_seen_(from.peer_items),
        bucket_(from.buckets),
        matched_(std::move(from.rows)),
        bucket_begin_(matched_.size()),
        root_(from.root) {
    tags_.update(root_.view());
  }

  Message hello() const;
  // Compares, and cuts the ids into buckets.
  Status take_hello(const Message& message);

  // A bucket's rows in their secret order.
  std::vector<uint32_t> secret_rows(uint32_t bucket) const;
  // The blinded elements of these rows, one behind the other.
  void write_blinded(std::span<const uint32_t> rows, std::span<uint8_t> out) const;
  // The products of the peer's elements, whose first one has `place` in its list; or the error that names the first bad
  // one.
  Result<std::vector<RistrettoElement>> doubled(ByteView elements, size_t place) const;
  void add_match(uint32_t row, const PsiTag& tag);
  // Behind all matches of a bucket.
  void end_bucket();

  // Behind the last bucket. malformed unless the peer has shown as many ids as it said, `refused` if the parties share
  // too few.
  Status close();
  Message result() const { return psi_message(peer_, outcome_); }
  Status take_result(const Message& message) const;

  // For whoever has to hear nothing now.
  static Error unexpected(const Message& message);

  bool is_last_bucket() const { return bucket_ + 1 == buckets_; }
  // What the peer's list of a bucket may hold: what a bucket can have, and no more than it has not shown yet.
  uint64_t peer_bucket_max() const;

  PartyIndex peer_;
  PsiSettings settings_;
  IdSet ids_;
  Blinding blinding_;
  uint64_t peer_items_ = 0, peer_items_seen_ = 0;
  size_t tag_bytes_ = 0;
  uint32_t buckets_ = 0, bucket_ = 0;

 private:
  std::vector<uint32_t> matched_;
  size_t bucket_begin_;   // in matched_
  Digest root_;           // of the buckets that are done
  ContentDigester tags_;  // of the bucket, behind those
  std::optional<MatchedBuckets> checkpoint_;
  PsiOutcome outcome_;
};

}  // namespace coterie::vertical
