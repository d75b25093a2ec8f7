#include "vertical/psi/matching_party.h"

#include <algorithm>
#include <string>

#include "vertical/psi/blinded_lists.h"

namespace coterie::vertical {

Message MatchingParty::hello() const {
  return psi_message(peer_, PsiHello{.items = ids_.items(), .settings = psi_settings_digest(settings_)});
}

Status MatchingParty::take_hello(const Message& message) {
  COT_TRY(expect_psi(message, peer_, PsiKind::hello));
  COT_ASSIGN(const PsiHello hello, read_psi_hello(message));
  // Before anything blinded leaves: with another salt nothing matches, and with another bucket size lists are cut
  // elsewhere.
  if (hello.settings != psi_settings_digest(settings_)) {
    return Error(ErrorCode::conflict,
                 "the peer matches with other settings (salt, id_type, bucket_items or intersection_min); both parties "
                 "must run one manifest");
  }
  if (hello.items > kPsiItemsMax) {
    return Error(ErrorCode::too_large, "a party has at most " + std::to_string(kPsiItemsMax) + " ids, the peer has " +
                                           std::to_string(hello.items));
  }
  peer_items_ = hello.items;
  tag_bytes_ = psi_tag_bytes(ids_.items(), peer_items_);
  buckets_ = psi_bucket_count(settings_, ids_.items(), peer_items_);
  // The journal of a party that goes on is held to its table by whoever keeps it.
  if (bucket_ >= buckets_ || peer_items_seen_ > peer_items_) {
    return Error(ErrorCode::data_loss, "a matching of " + std::to_string(buckets_) + " buckets and " +
                                           std::to_string(peer_items_) + " ids of the peer cannot go on behind " +
                                           std::to_string(bucket_) + " buckets with " +
                                           std::to_string(peer_items_seen_));
  }
  ids_.cut(settings_, buckets_);
  return {};
}

std::vector<uint32_t> MatchingParty::secret_rows(uint32_t bucket) const {
  const std::span<const uint32_t> rows = ids_.bucket(bucket);
  std::vector<uint32_t> ordered = blinding_.order(bucket, static_cast<uint32_t>(rows.size()));
  for (uint32_t& place : ordered) place = rows[place];
  return ordered;
}

void MatchingParty::write_blinded(std::span<const uint32_t> rows, std::span<uint8_t> out) const {
  vertical::write_blinded(blinding_, settings_, ids_, rows, out);
}

Result<std::vector<RistrettoElement>> MatchingParty::doubled(ByteView elements, size_t place) const {
  return multiplied(blinding_, elements, bucket_, place);
}

void MatchingParty::add_match(uint32_t row, const PsiTag& tag) {
  matched_.push_back(row);
  tags_.update(ByteView(tag).first(tag_bytes_));
}

void MatchingParty::end_bucket() {
  // A digest of the matched tags in their order: both parties must come to the same rows, or training would pair
  // strangers. Each bucket's goes on from the one before, so that a matching can.
  root_ = std::exchange(tags_, {}).finish();
  tags_.update(root_.view());
  if (!is_last_bucket()) {
    checkpoint_ = MatchedBuckets{.buckets = bucket_ + 1,
                                 .buckets_all = buckets_,
                                 .peer_items = peer_items_seen_,
                                 .root = root_,
                                 .rows = {matched_.begin() + static_cast<ptrdiff_t>(bucket_begin_), matched_.end()}};
  }
  bucket_begin_ = matched_.size();
}

uint64_t MatchingParty::peer_bucket_max() const {
  // What is reserved for a bucket is bounded by what the peer said it has, and by what chance makes of a fair hash.
  return std::min(peer_items_ - peer_items_seen_, psi_bucket_size_max(peer_items_, buckets_));
}

Status MatchingParty::close() {
  if (peer_items_seen_ != peer_items_) {
    return Error(ErrorCode::malformed, "the peer said that it has " + std::to_string(peer_items_) + " ids, " +
                                           std::to_string(peer_items_seen_) + " came");
  }
  outcome_ = PsiOutcome{.count = matched_.size(), .root = root_};
  if (outcome_.count >= settings_.intersection_min) return {};
  return Error(ErrorCode::refused, "the parties share " + std::to_string(outcome_.count) +
                                       " ids, and the job asks for at least " +
                                       std::to_string(settings_.intersection_min));
}

Status MatchingParty::take_result(const Message& message) const {
  COT_TRY(expect_psi(message, peer_, PsiKind::result));
  COT_ASSIGN(const PsiOutcome theirs, read_psi_outcome(message));
  if (theirs == outcome_) return {};
  return Error(ErrorCode::conflict, "the parties disagree about the intersection: the peer has " +
                                        std::to_string(theirs.count) + " ids with root " + theirs.root.hex() +
                                        ", we have " + std::to_string(outcome_.count) + " with root " +
                                        outcome_.root.hex());
}

Error MatchingParty::unexpected(const Message& message) {
  return Error(ErrorCode::malformed, "expected nothing, " + std::string(psi_kind_name(message.kind)) + " (kind " +
                                         std::to_string(message.kind) + ") came");
}

}  // namespace coterie::vertical
