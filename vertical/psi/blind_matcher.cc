#include "vertical/psi/blind_matcher.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "vertical/psi/psi_settings.h"

namespace coterie::vertical {

BlindMatcher::BlindMatcher(uint32_t parties, uint64_t entries_max, size_t step_entries)
    : entries_max_(entries_max), sides_(parties), step_entries_(step_entries), telling_(parties) {
  COT_ASSERT(parties >= kRingPartiesMin && parties <= kRingPartiesMax && step_entries > 0);
}

std::optional<Message> BlindMatcher::next() {
  if (!is_telling()) return std::nullopt;
  const std::vector<uint32_t>& places = sides_[telling_].places;
  // What is said is of the bucket that was ended last.
  if (!writer_) {
    writer_.emplace(PsiKind::matches, bucket_ - 1, static_cast<uint32_t>(places.size()), sizeof(uint32_t));
  }
  Message message = writer_->next(static_cast<PartyIndex>(telling_),
                                  [&](uint32_t entry, std::span<uint8_t> bytes) { write_u32(bytes, places[entry]); });
  if (writer_->done()) {
    writer_.reset();
    sides_[telling_++].places.clear();
  }
  return message;
}

Status BlindMatcher::receive(const Message& message) {
  if (message.peer >= sides_.size() || is_over_) {
    return Error(ErrorCode::malformed, "the matcher expected nothing of party " + std::to_string(message.peer) + ", " +
                                           std::string(psi_kind_name(message.kind)) + " came");
  }
  Side& side = sides_[message.peer];
  if (!side.desk) return take_desk(message, side);
  if (side.reader->done()) {
    return Error(ErrorCode::malformed, "party " + std::to_string(message.peer) +
                                           " has nothing to say before the other parties' tags are here, " +
                                           std::string(psi_kind_name(message.kind)) + " came");
  }
  COT_ASSIGN(const ByteView bytes, side.reader->take(message, message.peer));
  const size_t width = side.desk->tag_bytes;
  for (size_t at = 0; at < bytes.size(); at += width) {
    PsiTag tag{};
    std::ranges::copy(bytes.subspan(at, width), tag.begin());
    side.tags.add(tag);
  }
  is_whole_ = std::ranges::all_of(sides_, [](const Side& one) { return one.reader && one.reader->done(); });
  if (is_whole_) {
    for (Side& one : sides_) one.tags.begin_reading();
  }
  return {};
}

Status BlindMatcher::take_desk(const Message& message, Side& side) {
  COT_TRY(expect_psi(message, message.peer, PsiKind::desk));
  COT_ASSIGN(const PsiDesk desk, read_psi_desk(message));
  if (desk.parties != sides_.size() || desk.buckets < 1 || desk.buckets > kPsiBucketsMax ||
      (desk.tag_bytes != 12 && desk.tag_bytes != 16) || desk.items_max > kPsiItemsMax) {
    return Error(ErrorCode::malformed, "party " + std::to_string(message.peer) + " asks for a matching of " +
                                           std::to_string(desk.parties) + " parties in " +
                                           std::to_string(desk.buckets) + " buckets with tags of " +
                                           std::to_string(desk.tag_bytes) + " bytes, which is none of this job");
  }
  // Before anything is kept: a bucket's lists are here at the same time.
  if (const uint64_t entries = sides_.size() * psi_bucket_size_max(desk.items_max, desk.buckets);
      entries > entries_max_) {
    return Error(ErrorCode::too_large,
                 "a bucket of these sets may have " + std::to_string(entries) + " tags, the matcher takes " +
                     std::to_string(entries_max_) + "; ask for a smaller bucket_items",
                 "bucket_too_large");
  }
  for (const Side& other : sides_) {
    if (!other.desk || *other.desk == desk) continue;
    return Error(ErrorCode::refused, "the parties ask for matchings of different sizes", "desk_differs");
  }
  side.desk = desk;
  // At once: its tags may overtake another party's desk, which comes on a connection of its own.
  begin_list(side);
  return {};
}

void BlindMatcher::begin_list(Side& side) {
  const PsiDesk& desk = *side.desk;
  side.tags = SortedTags();
  side.reader.emplace(PsiKind::tags, bucket_, psi_bucket_size_max(desk.items_max, desk.buckets), desk.tag_bytes);
}

Status BlindMatcher::compare() {
  COT_ASSERT(is_comparing());
  for (size_t seen = 0; seen < step_entries_;) {
    // All lists at once: the smallest of their heads is in no more of them than have it there.
    const PsiTag* smallest = nullptr;
    for (const Side& side : sides_) {
      if (side.tags.ended()) continue;
      const PsiTag& head = side.tags.head().tag;
      if (smallest == nullptr || head < *smallest) smallest = &head;
    }
    if (smallest == nullptr) {
      end_bucket();
      return {};
    }
    const PsiTag tag = *smallest;
    const auto has_it = [&tag](const Side& side) { return !side.tags.ended() && side.tags.head().tag == tag; };
    const bool all_have_it = std::ranges::all_of(sides_, has_it);
    for (PartyIndex party = 0; party < sides_.size(); ++party) {
      Side& side = sides_[party];
      if (!has_it(side)) continue;
      if (all_have_it) side.places.push_back(side.tags.head().place);
      side.tags.advance();
      ++seen;
      if (!has_it(side)) continue;
      return Error(ErrorCode::malformed,
                   "party " + std::to_string(party) + " sent one tag twice in bucket " + std::to_string(bucket_));
    }
  }
  return {};
}

void BlindMatcher::end_bucket() {
  telling_ = 0;
  is_whole_ = false;
  if (++bucket_ == sides_[0].desk->buckets) {
    is_over_ = true;
    for (Side& side : sides_) side.tags = SortedTags();
  } else {
    std::ranges::for_each(sides_, [this](Side& side) { begin_list(side); });
  }
}

}  // namespace coterie::vertical
