#include "vertical/psi/blind_matcher.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "vertical/psi/psi_settings.h"

namespace coterie::vertical {

BlindMatcher::BlindMatcher(uint32_t parties, uint64_t entries_max) : entries_max_(entries_max), sides_(parties) {
  COT_ASSERT(parties >= kRingPartiesMin && parties <= kRingPartiesMax);
}

std::optional<Message> BlindMatcher::next() {
  if (outbox_.empty()) return std::nullopt;
  Message message = std::move(outbox_.front());
  outbox_.pop_front();
  return message;
}

Status BlindMatcher::receive(const Message& message) {
  if (message.peer >= sides_.size() || is_over_) {
    return Error(ErrorCode::malformed, "the matcher expected nothing of party " + std::to_string(message.peer) + ", " +
                                           std::string(psi_kind_name(message.kind)) + " came");
  }
  Side& side = sides_[message.peer];
  if (!side.desk) return take_desk(message, side);
  if (!side.reader || side.reader->done()) {
    return Error(ErrorCode::malformed, "party " + std::to_string(message.peer) +
                                           " has nothing to say before the other parties' tags are here, " +
                                           std::string(psi_kind_name(message.kind)) + " came");
  }
  COT_ASSIGN(const ByteView bytes, side.reader->take(message, message.peer));
  const size_t width = side.desk->tag_bytes;
  for (size_t at = 0; at < bytes.size(); at += width) {
    Entry entry{.tag = {}, .place = static_cast<uint32_t>(side.entries.size())};
    std::ranges::copy(bytes.subspan(at, width), entry.tag.begin());
    side.entries.push_back(entry);
  }
  const bool are_here = std::ranges::all_of(sides_, [](const Side& one) { return one.reader && one.reader->done(); });
  return are_here ? match() : Status();
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
  if (std::ranges::all_of(sides_, [](const Side& one) { return one.desk.has_value(); })) begin_bucket();
  return {};
}

void BlindMatcher::begin_bucket() {
  for (Side& side : sides_) {
    const PsiDesk& desk = *side.desk;
    side.entries.clear();
    side.reader.emplace(PsiKind::tags, bucket_, psi_bucket_size_max(desk.items_max, desk.buckets), desk.tag_bytes);
  }
}

Status BlindMatcher::match() {
  for (PartyIndex party = 0; party < sides_.size(); ++party) {
    std::vector<Entry>& entries = sides_[party].entries;
    std::ranges::sort(entries, {}, &Entry::tag);
    if (std::ranges::adjacent_find(entries, {}, &Entry::tag) != entries.end()) {
      return Error(ErrorCode::malformed,
                   "party " + std::to_string(party) + " sent one tag twice in bucket " + std::to_string(bucket_));
    }
  }
  // All lists at once, each from where it was: what is not the largest of the heads is in no more lists.
  std::vector<std::vector<uint32_t>> places(sides_.size());
  std::vector<size_t> at(sides_.size(), 0);
  const auto has_more = [&] {
    for (size_t i = 0; i < sides_.size(); ++i) {
      if (at[i] == sides_[i].entries.size()) return false;
    }
    return true;
  };
  while (has_more()) {
    std::array<uint8_t, 16> largest{};
    for (size_t i = 0; i < sides_.size(); ++i) largest = std::max(largest, sides_[i].entries[at[i]].tag);
    bool is_in_all = true;
    for (size_t i = 0; i < sides_.size(); ++i) {
      if (sides_[i].entries[at[i]].tag == largest) continue;
      is_in_all = false;
      ++at[i];
    }
    if (!is_in_all) continue;
    for (size_t i = 0; i < sides_.size(); ++i) places[i].push_back(sides_[i].entries[at[i]++].place);
  }
  for (PartyIndex party = 0; party < sides_.size(); ++party) {
    const std::vector<uint32_t>& list = places[party];
    SliceWriter writer(PsiKind::matches, bucket_, static_cast<uint32_t>(list.size()), sizeof(uint32_t));
    do {
      outbox_.push_back(
          writer.next(party, [&](uint32_t entry, std::span<uint8_t> bytes) { write_u32(bytes, list[entry]); }));
    } while (!writer.done());
  }
  if (++bucket_ == sides_[0].desk->buckets) {
    is_over_ = true;
    for (Side& side : sides_) side.entries = {};
  } else {
    begin_bucket();
  }
  return {};
}

}  // namespace coterie::vertical
