// Rosters as a device sees them, and the choice of holders.
#include <algorithm>

#include "proto/codec/secagg_codec.h"
#include "proto/codec/secagg_fields.h"

namespace coterie {
namespace {

Result<std::vector<RosterEntry>> entries(const wire::RosterView& table, uint32_t size) {
  constexpr size_t kEntriesMax = limits::kNeighboursMax + 1;  // and the device itself
  if (table.entries()->size() > kEntriesMax) {
    return flat::out_of_range("entries", "must be at most " + std::to_string(kEntriesMax) + ", are " +
                                             std::to_string(table.entries()->size()));
  }
  std::vector<RosterEntry> entries;
  entries.reserve(table.entries()->size());
  for (const wire::RosterEntry* entry : *table.entries()) {
    COT_ASSIGN(const uint32_t device, flat::roster_place(entry->device(), "entry", size));
    if (!entries.empty() && entries.back().device >= device) {
      return flat::out_of_range("entries", "must ascend strictly");
    }
    COT_ASSIGN(KeyAdvert advert, flat::parse(*entry->advert()));
    entries.push_back({device, std::move(advert)});
  }
  return entries;
}

}  // namespace

Bytes encode(const RosterSlot& message) {
  flatbuffers::FlatBufferBuilder builder;
  const auto proof = flat::vector(builder, message.proof);
  const wire::Digest32 root = flat::digest(message.root);
  builder.Finish(wire::CreateRosterSlot(builder, message.device, message.size, &root, proof));
  return flat::finish(builder, FrameKind::roster_slot);
}

Result<RosterSlot> decode_roster_slot(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::roster_slot));
  COT_ASSIGN(const auto root, flat::Root<wire::RosterSlot>::verify(frame.header));
  RosterSlot message;
  COT_ASSIGN(message.size, flat::roster_size(root->size()));
  COT_ASSIGN(message.device, flat::roster_place(root->device(), "device", message.size));
  message.root = flat::digest(*root->root());
  COT_ASSIGN(message.proof, flat::digests(root->proof(), "proof", limits::kRosterPathDigestsMax));
  return message;
}

Bytes encode(const HolderChoice& message) {
  flatbuffers::FlatBufferBuilder builder;
  const auto holders = flat::vector(builder, message.holders);
  const wire::Digest32 root = flat::digest(message.root);
  builder.Finish(wire::CreateHolderChoice(builder, &root, message.device, holders));
  return flat::finish(builder, FrameKind::holder_choice);
}

Result<HolderChoice> decode_holder_choice(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::holder_choice));
  COT_ASSIGN(const auto root, flat::Root<wire::HolderChoice>::verify(frame.header));
  HolderChoice message;
  message.root = flat::digest(*root->root());
  COT_ASSIGN(message.device, flat::roster_place(root->device(), "device"));
  COT_ASSIGN(message.holders, flat::devices(root->holders(), "holders", 1));
  COT_TRY(flat::is_not_among(message.device, message.holders, "holders"));
  return message;
}

Bytes encode(const RosterView& message) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::RosterEntry>> offsets;
  offsets.reserve(message.entries.size());
  for (const RosterEntry& entry : message.entries) {
    offsets.push_back(wire::CreateRosterEntry(builder, entry.device, flat::build(builder, entry.advert)));
  }
  const auto entries = builder.CreateVector(offsets);
  const auto proof = flat::vector(builder, message.proof);
  const wire::Digest32 root = flat::digest(message.root);
  builder.Finish(wire::CreateRosterView(builder, message.device, message.size, &root, entries, proof));
  return flat::finish(builder, FrameKind::roster_view);
}

Result<RosterView> decode_roster_view(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::roster_view));
  COT_ASSIGN(const auto root, flat::Root<wire::RosterView>::verify(frame.header));
  RosterView message;
  COT_ASSIGN(message.size, flat::roster_size(root->size()));
  COT_ASSIGN(message.device, flat::roster_place(root->device(), "device", message.size));
  message.root = flat::digest(*root->root());
  COT_ASSIGN(message.entries, entries(*root, message.size));
  const auto is_itself = [&](const RosterEntry& entry) { return entry.device == message.device; };
  if (std::none_of(message.entries.begin(), message.entries.end(), is_itself)) {
    return flat::out_of_range("entries", "must have the device itself");
  }
  COT_ASSIGN(message.proof, flat::digests(root->proof(), "proof", limits::kRosterProofDigestsMax));
  return message;
}

}  // namespace coterie
