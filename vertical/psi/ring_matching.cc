#include "vertical/psi/ring_matching.h"

#include <algorithm>
#include <deque>
#include <string>

#include "base/assert.h"
#include "secure/crypto/digest.h"
#include "vertical/psi/blinded_lists.h"
#include "vertical/psi/blinding.h"

namespace coterie::vertical {
namespace {

using Elements = std::vector<RistrettoElement>;
using Places = std::vector<uint32_t>;

class RingParty final : public RingMatching {
 public:
  RingParty(IdSet ids, PsiSettings settings, PartyIndex self, uint32_t parties, const Secret<32>& seed)
      : settings_(std::move(settings)),
        ids_(std::move(ids)),
        blinding_(seed),
        self_(self),
        parties_(parties),
        items_(parties),
        seen_(parties),
        has_said_(parties),
        orders_(parties) {
    items_[self] = ids_.items();
    has_said_[self] = true;
    say_to_all([&](PartyIndex peer) {
      return psi_message(peer, PsiHello{.items = ids_.items(), .settings = psi_settings_digest(settings_)});
    });
  }

  std::optional<Message> next() override {
    if (outbox_.empty()) return std::nullopt;
    Message message = std::move(outbox_.front());
    outbox_.pop_front();
    return message;
  }

  PartyIndex awaits() const override {
    switch (phase_) {
      case Phase::hello:
      case Phase::result: return unheard();
      case Phase::forward: return before();
      case Phase::matcher: return kMatcher;
      case Phase::backward: return behind();
    }
    return kMatcher;
  }

  Status receive(const Message& message) override {
    if (done()) {
      return Error(ErrorCode::malformed, "expected nothing, " + std::string(psi_kind_name(message.kind)) + " came");
    }
    switch (phase_) {
      case Phase::hello: return take_hello(message);
      case Phase::forward: return take_elements(message);
      case Phase::matcher:
      case Phase::backward: return take_places(message);
      case Phase::result: return take_result(message);
    }
    return {};
  }

  bool done() const override { return phase_ == Phase::result && unheard() == self_ && outbox_.empty(); }
  const std::vector<uint32_t>& matched_rows() const override { return matched_; }
  const PsiOutcome& outcome() const override { return outcome_; }
  const std::vector<uint64_t>& items() const override { return items_; }

 private:
  enum class Phase : uint8_t { hello, forward, matcher, backward, result };

  PartyIndex behind() const { return (self_ + 1) % parties_; }
  PartyIndex before() const { return (self_ + parties_ - 1) % parties_; }
  bool speaks_first() const { return self_ % 2 == 0; }
  // The owner of the list that is at hand: of round r on the way forward it has gone r steps; the last one belongs to
  // the party behind.
  PartyIndex owner(uint32_t steps) const { return (self_ + parties_ - steps % parties_) % parties_; }
  // The first party whose word is to come; this party, if none's is.
  PartyIndex unheard() const {
    const auto found = std::ranges::find(has_said_, false);
    return found == has_said_.end() ? self_ : static_cast<PartyIndex>(found - has_said_.begin());
  }

  template <typename Make>
  void say_to_all(Make make) {
    for (PartyIndex peer = 0; peer < parties_; ++peer) {
      if (peer != self_) outbox_.push_back(make(peer));
    }
  }

  Status take_hello(const Message& message) {
    COT_TRY(expect_psi(message, unheard(), PsiKind::hello));
    COT_ASSIGN(const PsiHello hello, read_psi_hello(message));
    const std::string who = "party " + std::to_string(message.peer);
    if (hello.settings != psi_settings_digest(settings_)) {
      return Error(ErrorCode::conflict, who +
                                            " matches with other settings (salt, id_type, bucket_items or "
                                            "intersection_min); all parties must run one manifest");
    }
    if (hello.items > kPsiItemsMax) {
      return Error(ErrorCode::too_large, "a party has at most " + std::to_string(kPsiItemsMax) + " ids, " + who +
                                             " has " + std::to_string(hello.items));
    }
    items_[message.peer] = hello.items;
    has_said_[message.peer] = true;
    if (unheard() != self_) return {};
    const uint64_t largest = std::ranges::max(items_);
    uint64_t all = 0;
    for (const uint64_t one : items_) all += one;
    // Two different ids of any two parties share a tag with probability below 2^-40: their pairs are fewer than all^2.
    tag_bytes_ = psi_tag_bytes(all, all);
    buckets_ = psi_bucket_count(settings_, largest, largest);
    ids_.cut(settings_, buckets_);
    outbox_.push_back(psi_message(kMatcher, PsiDesk{.parties = parties_,
                                                    .buckets = buckets_,
                                                    .tag_bytes = static_cast<uint32_t>(tag_bytes_),
                                                    .items_max = largest}));
    begin_bucket();
    return {};
  }

  std::vector<uint32_t> order_of(PartyIndex list, size_t count) const {
    return blinding_.order(bucket_ * kRingPartiesMax + list, static_cast<uint32_t>(count));
  }

  void begin_bucket() {
    const std::span<const uint32_t> rows = ids_.bucket(bucket_);
    own_rows_ = order_of(self_, rows.size());
    for (uint32_t& place : own_rows_) place = rows[place];
    Bytes bytes(own_rows_.size() * sizeof(RistrettoElement));
    write_blinded(blinding_, settings_, ids_, own_rows_, bytes);
    list_.resize(own_rows_.size());
    for (size_t i = 0; i < list_.size(); ++i) {
      std::ranges::copy(ByteView(bytes).subspan(i * sizeof(RistrettoElement), sizeof(RistrettoElement)),
                        list_[i].bytes.begin());
    }
    phase_ = Phase::forward;
    steps_ = 0;
    begin_round();
  }

  void begin_round() {
    coming_.clear();
    // What a list may hold: what a bucket can have, and no more than its owner has not shown yet.
    const PartyIndex of = owner(steps_ + 1);
    const uint64_t most = std::min(items_[of] - seen_[of], psi_bucket_size_max(items_[of], buckets_));
    reader_.emplace(PsiKind::masked, bucket_, most, sizeof(RistrettoElement));
    if (speaks_first()) send_elements();
  }

  void send_elements() {
    send_list(PsiKind::masked, behind(), list_.size(), sizeof(RistrettoElement),
              [&](uint32_t entry, std::span<uint8_t> bytes) { std::ranges::copy(list_[entry].bytes, bytes.begin()); });
  }

  template <typename Write>
  void send_list(PsiKind kind, PartyIndex to, size_t entries, size_t entry_bytes, Write write) {
    SliceWriter writer(kind, bucket_, static_cast<uint32_t>(entries), entry_bytes);
    do {
      outbox_.push_back(writer.next(to, write));
    } while (!writer.done());
  }

  Status take_elements(const Message& message) {
    COT_ASSIGN(const ByteView bytes, reader_->take(message, before()));
    COT_ASSIGN(const Elements products, multiplied(blinding_, bytes, bucket_, coming_.size()));
    coming_.insert(coming_.end(), products.begin(), products.end());
    if (!reader_->done()) return {};
    if (!speaks_first()) send_elements();
    const PartyIndex of = owner(++steps_);
    seen_[of] += coming_.size();
    orders_[of] = order_of(of, coming_.size());
    list_.resize(coming_.size());
    for (size_t i = 0; i < list_.size(); ++i) list_[i] = coming_[orders_[of][i]];
    if (steps_ + 1 < parties_) {
      begin_round();
      return {};
    }
    // All have multiplied it.
    tags_.clear();
    for (const RistrettoElement& element : list_) tags_.push_back(psi_tag(element, tag_bytes_));
    send_list(PsiKind::tags, kMatcher, tags_.size(), tag_bytes_, [&](uint32_t entry, std::span<uint8_t> into) {
      std::copy_n(tags_[entry].begin(), into.size(), into.begin());
    });
    phase_ = Phase::matcher;
    places_.clear();
    reader_.emplace(PsiKind::matches, bucket_, list_.size(), sizeof(uint32_t));
    return {};
  }

  Status take_places(const Message& message) {
    COT_ASSIGN(const ByteView bytes, reader_->take(message, awaits()));
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint32_t)) places_.push_back(read_u32(bytes.subspan(at)));
    if (!reader_->done()) return {};
    return phase_ == Phase::matcher ? take_matches() : take_back();
  }

  // `places_` must be different places of a list with so many entries.
  Status check_places(size_t entries, const char* whose) const {
    std::vector<bool> is_taken(entries);
    for (const uint32_t place : places_) {
      if (place >= entries || is_taken[place]) {
        return Error(ErrorCode::malformed, std::string(whose) + " names the place " + std::to_string(place) +
                                               " of a list with " + std::to_string(entries) + " entries in bucket " +
                                               std::to_string(bucket_) + (place < entries ? " twice" : ""));
      }
      is_taken[place] = true;
    }
    return {};
  }

  Status take_matches() {
    COT_TRY(check_places(tags_.size(), "the matcher"));
    const PsiTag* last = nullptr;
    for (const uint32_t place : places_) {
      const PsiTag& tag = tags_[place];
      if (last != nullptr && !(*last < tag)) {
        return Error(ErrorCode::malformed, "the matcher's places are not in the order of their tags");
      }
      last = &tag;
      root_.update(ByteView(tag).first(tag_bytes_));
    }
    matched_in_bucket_ = places_.size();
    // A small intersection is known before the last places go back: they do not.
    if (bucket_ + 1 == buckets_) COT_TRY(check_count(matched_.size() + matched_in_bucket_));
    phase_ = Phase::backward;
    go_back();
    return {};
  }

  Status check_count(size_t count) const {
    if (count >= settings_.intersection_min) return {};
    return Error(ErrorCode::refused, "the parties share " + std::to_string(count) +
                                         " ids, and the job asks for at least " +
                                         std::to_string(settings_.intersection_min));
  }

  // `places_` are of a list as it left here; as it came here they go to the party before.
  void go_back() {
    const PartyIndex of = owner(steps_);
    for (uint32_t& place : places_) place = orders_[of][place];
    returning_ = std::move(places_);
    places_ = {};
    reader_.emplace(PsiKind::matches, bucket_, matched_in_bucket_, sizeof(uint32_t));
    if (speaks_first()) send_back();
  }

  void send_back() {
    send_list(PsiKind::matches, before(), returning_.size(), sizeof(uint32_t),
              [&](uint32_t entry, std::span<uint8_t> bytes) { write_u32(bytes, returning_[entry]); });
  }

  Status take_back() {
    if (places_.size() != matched_in_bucket_) {
      return Error(ErrorCode::malformed, "party " + std::to_string(behind()) + " gives " +
                                             std::to_string(places_.size()) + " places back, the matcher named " +
                                             std::to_string(matched_in_bucket_));
    }
    if (!speaks_first()) send_back();
    --steps_;
    const size_t entries = steps_ == 0 ? own_rows_.size() : orders_[owner(steps_)].size();
    COT_TRY(check_places(entries, "the party behind"));
    if (steps_ > 0) {
      go_back();
      return {};
    }
    for (const uint32_t place : places_) matched_.push_back(own_rows_[place]);
    if (++bucket_ < buckets_) {
      begin_bucket();
      return {};
    }
    return close();
  }

  Status close() {
    seen_[self_] = items_[self_];
    for (PartyIndex party = 0; party < parties_; ++party) {
      if (seen_[party] == items_[party]) continue;
      return Error(ErrorCode::malformed, "party " + std::to_string(party) + " said that it has " +
                                             std::to_string(items_[party]) + " ids, " + std::to_string(seen_[party]) +
                                             " came");
    }
    outcome_ = PsiOutcome{.count = matched_.size(), .root = root_.finish()};
    phase_ = Phase::result;
    for (PartyIndex party = 0; party < parties_; ++party) has_said_[party] = party == self_;
    say_to_all([&](PartyIndex peer) { return psi_message(peer, outcome_); });
    return {};
  }

  // Each party's digest is over the tags of another list: equal ones say that what the matcher named is in all lists.
  Status take_result(const Message& message) {
    COT_TRY(expect_psi(message, unheard(), PsiKind::result));
    COT_ASSIGN(const PsiOutcome theirs, read_psi_outcome(message));
    if (theirs != outcome_) {
      return Error(ErrorCode::conflict,
                   "party " + std::to_string(message.peer) + " has " + std::to_string(theirs.count) +
                       " matches with root " + theirs.root.hex() + ", this one " + std::to_string(outcome_.count) +
                       " with root " + outcome_.root.hex() + ": the matcher named ids that not all parties have",
                   "matches_differ");
    }
    has_said_[message.peer] = true;
    return {};
  }

  PsiSettings settings_;
  IdSet ids_;
  Blinding blinding_;
  PartyIndex self_;
  uint32_t parties_;
  std::vector<uint64_t> items_, seen_;  // of each party
  std::vector<bool> has_said_;          // its hello, then its result
  size_t tag_bytes_ = 0;
  uint32_t buckets_ = 0, bucket_ = 0;
  Phase phase_ = Phase::hello;
  uint32_t steps_ = 0;  // that the list at hand has gone
  std::optional<SliceReader> reader_;
  Elements list_, coming_;      // as it goes on from here; as it comes
  std::vector<Places> orders_;  // place i of a list as it left here had this place as it came
  std::vector<uint32_t> own_rows_;
  std::vector<PsiTag> tags_;  // of the list of the party behind
  Places places_, returning_;
  size_t matched_in_bucket_ = 0;
  std::vector<uint32_t> matched_;
  ContentDigester root_;
  PsiOutcome outcome_;
  std::deque<Message> outbox_;
};

}  // namespace

Result<std::unique_ptr<RingMatching>> start_ring_matching(IdSet ids, PsiSettings settings, PartyIndex self,
                                                          uint32_t parties, const Secret<32>& seed) {
  COT_TRY(check_psi_settings(settings));
  if (parties < kRingPartiesMin || parties > kRingPartiesMax || self >= parties) {
    return Error(ErrorCode::invalid_argument,
                 "a ring has " + std::to_string(kRingPartiesMin) + " to " + std::to_string(kRingPartiesMax) +
                     " parties, not " + std::to_string(parties) + " with this one as party " + std::to_string(self));
  }
  return std::unique_ptr<RingMatching>(
      std::make_unique<RingParty>(std::move(ids), std::move(settings), self, parties, seed));
}

}  // namespace coterie::vertical
