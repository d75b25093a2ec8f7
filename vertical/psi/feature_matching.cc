// The feature party's side: it answers, and is told what matched.
#include <algorithm>
#include <string>
#include <utility>

#include "vertical/psi/matching_party.h"

namespace coterie::vertical {
namespace {

constexpr size_t kElementBytes = 32;
constexpr size_t kMatchBytes = 8;

class FeatureMatching final : public MatchingParty {
 public:
  FeatureMatching(IdSet ids, PsiSettings settings, PartyIndex peer, const Secret<32>& seed, MatchedBuckets from)
      : MatchingParty(std::move(ids), std::move(settings), peer, seed, std::move(from)) {}

  std::optional<Message> next() override {
    switch (state_) {
      case State::say_hello: begin_bucket(); return hello();
      case State::say_doubled: {
        Message message = writer_->next(peer_, [&](uint32_t entry, std::span<uint8_t> bytes) {
          std::copy_n(tags_[entry].begin(), tag_bytes_, bytes.begin());
        });
        if (writer_->done()) {
          writer_.emplace(PsiKind::masked, bucket_, static_cast<uint32_t>(rows_.size()), kElementBytes);
          state_ = State::say_masked;
        }
        return message;
      }
      case State::say_masked: {
        Message message = writer_->next_of_all(peer_, [&](uint32_t first, std::span<uint8_t> bytes) {
          write_blinded(std::span(rows_).subspan(first, bytes.size() / kElementBytes), bytes);
        });
        if (writer_->done()) {
          reader_.emplace(PsiKind::matches, bucket_, std::min(rows_.size(), tags_.size()), kMatchBytes);
          state_ = State::hear_matches;
        }
        return message;
      }
      case State::say_result: state_ = State::done; return result();
      default: return std::nullopt;
    }
  }

  Status receive(const Message& message) override {
    switch (state_) {
      case State::hear_hello:
        COT_TRY(take_hello(message));
        state_ = State::say_hello;
        return {};
      case State::hear_masked: return take_masked(message);
      case State::hear_matches: return take_matches(message);
      case State::hear_result:
        COT_TRY(take_result(message));
        state_ = State::say_result;
        return {};
      default: return unexpected(message);
    }
  }

  bool done() const override { return state_ == State::done; }

 private:
  enum class State : uint8_t {
    hear_hello,
    say_hello,
    hear_masked,
    say_doubled,
    say_masked,
    hear_matches,
    hear_result,
    say_result,
    done
  };

  void begin_bucket() {
    rows_ = secret_rows(bucket_);
    tags_.clear();
    reader_.emplace(PsiKind::masked, bucket_, peer_bucket_max(), kElementBytes);
    state_ = State::hear_masked;
  }

  Status take_masked(const Message& message) {
    COT_ASSIGN(const ByteView entries, reader_->take(message, peer_));
    COT_ASSIGN(const std::vector<RistrettoElement> products, doubled(entries, tags_.size()));
    for (const RistrettoElement& product : products) tags_.push_back(psi_tag(product, tag_bytes_));
    if (!reader_->done()) return {};
    peer_items_seen_ += reader_->total();
    taken_.assign(rows_.size(), false);
    last_tag_.reset();
    writer_.emplace(PsiKind::doubled, bucket_, static_cast<uint32_t>(tags_.size()), tag_bytes_);
    state_ = State::say_doubled;
    return {};
  }

  Status take_matches(const Message& message) {
    COT_ASSIGN(const ByteView entries, reader_->take(message, peer_));
    for (size_t at = 0; at < entries.size(); at += kMatchBytes) {
      const uint32_t own = read_u32(entries.subspan(at)), theirs = read_u32(entries.subspan(at + 4));
      // The label party joins, and says what matched. What it says is held against what was sent before: it can leave
      // matches out, which the count and the root then show, but invent none.
      if (own >= rows_.size() || theirs >= tags_.size()) {
        return bad_match("places " + std::to_string(own) + " and " + std::to_string(theirs) + " of " +
                         std::to_string(rows_.size()) + " and " + std::to_string(tags_.size()));
      }
      if (taken_[own]) return bad_match("place " + std::to_string(own) + " twice");
      // Ascending tags also mean that none of the peer's places comes twice.
      if (last_tag_ && !(*last_tag_ < tags_[theirs])) return bad_match("tags that do not ascend");
      taken_[own] = true;
      last_tag_ = tags_[theirs];
      add_match(rows_[own], tags_[theirs]);
    }
    if (!reader_->done()) return {};
    end_bucket();
    if (is_last_bucket()) {
      COT_TRY(close());
      state_ = State::hear_result;
      return {};
    }
    ++bucket_;
    begin_bucket();
    return {};
  }

  Error bad_match(const std::string& what) const {
    return Error(ErrorCode::malformed, "matches of bucket " + std::to_string(bucket_) + " have " + what);
  }

  State state_ = State::hear_hello;
  std::vector<uint32_t> rows_;
  std::vector<PsiTag> tags_;  // in the label party's order
  std::vector<bool> taken_;
  std::optional<PsiTag> last_tag_;
  std::optional<SliceWriter> writer_;
  std::optional<SliceReader> reader_;
};

}  // namespace

Result<std::unique_ptr<Matching>> start_feature_matching(IdSet ids, PsiSettings settings, PartyIndex peer,
                                                         const Secret<32>& seed, MatchedBuckets from) {
  COT_TRY(check_psi_settings(settings));
  return std::unique_ptr<Matching>(
      new FeatureMatching(std::move(ids), std::move(settings), peer, seed, std::move(from)));
}

}  // namespace coterie::vertical
