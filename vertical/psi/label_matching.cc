// The label party's side: it joins.
#include <algorithm>
#include <string>
#include <utility>

#include "vertical/psi/matching_party.h"

namespace coterie::vertical {
namespace {

constexpr size_t kElementBytes = 32;
constexpr size_t kMatchBytes = 8;

class LabelMatching final : public MatchingParty {
 public:
  LabelMatching(IdSet ids, PsiSettings settings, PartyIndex peer, const Secret<32>& seed, MatchedBuckets from)
      : MatchingParty(std::move(ids), std::move(settings), peer, seed, std::move(from)) {}

  std::optional<Message> next() override {
    switch (state_) {
      case State::say_hello: state_ = State::hear_hello; return hello();
      case State::say_masked: {
        Message message = writer_->next_of_all(peer_, [&](uint32_t first, std::span<uint8_t> bytes) {
          write_blinded(std::span(rows_).subspan(first, bytes.size() / kElementBytes), bytes);
        });
        if (writer_->done()) {
          // As many tags as we sent elements; a list of another length is found when it ends.
          doubled_.emplace(PsiKind::doubled, bucket_, rows_.size(), tag_bytes_);
          masked_.emplace(PsiKind::masked, bucket_, peer_bucket_max(), kElementBytes);
          state_ = State::hear_doubled;
        }
        return message;
      }
      case State::say_matches: {
        Message message = writer_->next(peer_, [&](uint32_t entry, std::span<uint8_t> bytes) {
          write_u32(bytes, matches_[entry].second);
          write_u32(bytes.subspan(4), matches_[entry].first);
        });
        if (writer_->done()) begin_bucket_or_end();
        return message;
      }
      case State::say_result: state_ = State::hear_result; return result();
      default: return std::nullopt;
    }
  }

  Status receive(const Message& message) override {
    switch (state_) {
      case State::hear_hello:
        COT_TRY(take_hello(message));
        begin_bucket();
        return {};
      case State::hear_doubled: return take_doubled(message);
      case State::hear_masked: return take_masked(message);
      case State::hear_result:
        COT_TRY(take_result(message));
        state_ = State::done;
        return {};
      default: return unexpected(message);
    }
  }

  bool done() const override { return state_ == State::done; }

 private:
  enum class State : uint8_t {
    say_hello,
    hear_hello,
    say_masked,
    hear_doubled,
    hear_masked,
    say_matches,
    say_result,
    hear_result,
    done
  };
  using Tagged = std::pair<PsiTag, uint32_t>;  // and the place in its party's secret order

  void begin_bucket() {
    rows_ = secret_rows(bucket_);
    own_.clear();
    theirs_.clear();
    writer_.emplace(PsiKind::masked, bucket_, static_cast<uint32_t>(rows_.size()), kElementBytes);
    state_ = State::say_masked;
  }

  Status take_doubled(const Message& message) {
    COT_ASSIGN(const ByteView entries, doubled_->take(message, peer_));
    for (size_t at = 0; at < entries.size(); at += tag_bytes_) {
      PsiTag tag{};
      std::ranges::copy(entries.subspan(at, tag_bytes_), tag.begin());
      own_.emplace_back(tag, static_cast<uint32_t>(own_.size()));
    }
    // Checked at the first message: a list that is too long would else be collected before it is refused.
    if (doubled_->total() != rows_.size()) {
      return Error(ErrorCode::malformed, "doubled: bucket " + std::to_string(bucket_) + " has " +
                                             std::to_string(rows_.size()) + " entries, " +
                                             std::to_string(doubled_->total()) + " are to come");
    }
    if (doubled_->done()) state_ = State::hear_masked;
    return {};
  }

  Status take_masked(const Message& message) {
    COT_ASSIGN(const ByteView entries, masked_->take(message, peer_));
    COT_ASSIGN(const std::vector<RistrettoElement> products, doubled(entries, theirs_.size()));
    for (const RistrettoElement& product : products) {
      theirs_.emplace_back(psi_tag(product, tag_bytes_), static_cast<uint32_t>(theirs_.size()));
    }
    if (!masked_->done()) return {};
    peer_items_seen_ += masked_->total();
    return join();
  }

  Status join() {
    std::ranges::sort(own_);
    std::ranges::sort(theirs_);
    const auto repeats = [](const std::vector<Tagged>& tagged) {
      return std::ranges::adjacent_find(tagged, {}, &Tagged::first) != tagged.end();
    };
    // Ids are distinct in each party, so equal tags mean a lie, or a collision that happens once in 2^40
    // (psi_tag_bytes).
    if (repeats(own_) || repeats(theirs_)) {
      return Error(ErrorCode::malformed, "bucket " + std::to_string(bucket_) + ": the peer sent one id's tag twice");
    }
    matches_.clear();
    for (size_t a = 0, b = 0; a < own_.size() && b < theirs_.size();) {
      if (own_[a].first < theirs_[b].first) {
        ++a;
      } else if (theirs_[b].first < own_[a].first) {
        ++b;
      } else {
        matches_.emplace_back(own_[a].second, theirs_[b].second);
        add_match(rows_[own_[a].second], own_[a].first);
        ++a, ++b;
      }
    }
    end_bucket();
    writer_.emplace(PsiKind::matches, bucket_, static_cast<uint32_t>(matches_.size()), kMatchBytes);
    // A small intersection is known before its last matches leave: they do not.
    if (is_last_bucket()) COT_TRY(close());
    state_ = State::say_matches;
    return {};
  }

  void begin_bucket_or_end() {
    if (is_last_bucket()) {
      state_ = State::say_result;
      return;
    }
    ++bucket_;
    begin_bucket();
  }

  State state_ = State::say_hello;
  std::vector<uint32_t> rows_;
  std::vector<Tagged> own_, theirs_;
  std::vector<std::pair<uint32_t, uint32_t>> matches_;  // places: ours, the peer's
  std::optional<SliceWriter> writer_;
  std::optional<SliceReader> doubled_, masked_;
};

}  // namespace

Result<std::unique_ptr<Matching>> start_label_matching(IdSet ids, PsiSettings settings, PartyIndex peer,
                                                       const Secret<32>& seed, MatchedBuckets from) {
  COT_TRY(check_psi_settings(settings));
  return std::unique_ptr<Matching>(new LabelMatching(std::move(ids), std::move(settings), peer, seed, std::move(from)));
}

}  // namespace coterie::vertical
