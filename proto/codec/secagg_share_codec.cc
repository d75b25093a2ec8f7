// Shares on their way: sealed, delivered, opened.
#include <algorithm>

#include "proto/codec/secagg_codec.h"
#include "proto/codec/secagg_fields.h"

namespace coterie {
namespace {

using flatbuffers::FlatBufferBuilder;

struct Boxes {
  flatbuffers::Offset<flatbuffers::Vector<uint32_t>> peers;
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> boxes;
};

Boxes build(FlatBufferBuilder& builder, const std::vector<AddressedBox>& boxes) {
  std::vector<uint32_t> peers;
  Bytes flat;
  peers.reserve(boxes.size());
  flat.reserve(boxes.size() * kSealedSharesBytes);
  for (const AddressedBox& box : boxes) {
    peers.push_back(box.peer);
    flat.insert(flat.end(), box.box.begin(), box.box.end());
  }
  return {flat::vector(builder, peers), flat::vector(builder, ByteView(flat))};
}

template <typename Table>
Result<std::vector<AddressedBox>> boxes(const Table& table, std::span<const uint32_t> peers) {
  COT_TRY(flat::has_elements(table.boxes(), "boxes", peers.size(), kSealedSharesBytes));
  std::vector<AddressedBox> boxes;
  boxes.reserve(peers.size());
  for (const uint32_t peer : peers) {
    boxes.push_back({peer, flat::array_at<kSealedSharesBytes>(table.boxes(), boxes.size())});
  }
  return boxes;
}

}  // namespace

Bytes encode(const SealedShares& message) {
  FlatBufferBuilder builder;
  const Boxes boxes = build(builder, message.boxes);
  const wire::Digest32 session = flat::digest(message.session);
  builder.Finish(wire::CreateSealedShares(builder, &session, message.device, boxes.peers, boxes.boxes));
  return flat::finish(builder, FrameKind::sealed_shares);
}

Result<SealedShares> decode_sealed_shares(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::sealed_shares));
  COT_ASSIGN(const auto root, flat::Root<wire::SealedShares>::verify(frame.header));
  SealedShares message;
  message.session = flat::digest(*root->session());
  COT_ASSIGN(message.device, flat::roster_place(root->device(), "device"));
  COT_ASSIGN(const std::vector<uint32_t> peers, flat::devices(root->peers(), "peers"));
  COT_TRY(flat::is_not_among(message.device, peers, "peers"));
  COT_ASSIGN(message.boxes, boxes(*root, peers));
  return message;
}

Bytes encode(const ShareInbox& message) {
  FlatBufferBuilder builder;
  const auto present = flat::vector(builder, message.present);
  const Boxes boxes = build(builder, message.boxes);
  const wire::Digest32 session = flat::digest(message.session);
  builder.Finish(wire::CreateShareInbox(builder, &session, present, boxes.peers, boxes.boxes));
  return flat::finish(builder, FrameKind::share_inbox);
}

Result<ShareInbox> decode_share_inbox(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::share_inbox));
  COT_ASSIGN(const auto root, flat::Root<wire::ShareInbox>::verify(frame.header));
  ShareInbox message;
  message.session = flat::digest(*root->session());
  COT_ASSIGN(message.present, flat::devices(root->present(), "present"));
  COT_ASSIGN(const std::vector<uint32_t> peers, flat::devices(root->peers(), "peers"));
  if (!std::includes(message.present.begin(), message.present.end(), peers.begin(), peers.end())) {
    return flat::out_of_range("peers", "must all be present");
  }
  COT_ASSIGN(message.boxes, boxes(*root, peers));
  return message;
}

Bytes encode(const Unmasking& message) {
  FlatBufferBuilder builder;
  std::vector<uint32_t> devices;
  Bytes kinds, values;
  for (const OpenedShare& share : message.shares) {
    devices.push_back(share.device);
    kinds.push_back(static_cast<uint8_t>(share.kind));
    values.insert(values.end(), share.value.begin(), share.value.end());
  }
  const auto device_vector = flat::vector(builder, devices);
  const auto kind_vector = flat::vector(builder, ByteView(kinds));
  const auto value_vector = flat::vector(builder, ByteView(values));
  const wire::Digest32 session = flat::digest(message.session);
  builder.Finish(wire::CreateUnmasking(builder, &session, message.device, device_vector, kind_vector, value_vector));
  return flat::finish(builder, FrameKind::unmasking);
}

Result<Unmasking> decode_unmasking(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::unmasking));
  COT_ASSIGN(const auto root, flat::Root<wire::Unmasking>::verify(frame.header));
  constexpr size_t kValueBytes = sizeof(OpenedShare::value);
  Unmasking message;
  message.session = flat::digest(*root->session());
  COT_ASSIGN(message.device, flat::roster_place(root->device(), "device"));
  COT_ASSIGN(const std::vector<uint32_t> devices, flat::devices(root->devices(), "devices"));
  COT_TRY(flat::has_elements(root->kinds(), "kinds", devices.size(), 1));
  COT_TRY(flat::has_elements(root->values(), "values", devices.size(), kValueBytes));
  message.shares.reserve(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    const uint8_t kind = root->kinds()->Get(static_cast<uint32_t>(i));
    if (kind != static_cast<uint8_t>(ShareKind::seed) && kind != static_cast<uint8_t>(ShareKind::mask_key)) {
      return flat::out_of_range("kind", "must be 1 (seed) or 2 (mask_key)");
    }
    message.shares.push_back(
        {devices[i], static_cast<ShareKind>(kind), flat::array_at<kValueBytes>(root->values(), i)});
  }
  return message;
}

}  // namespace coterie
