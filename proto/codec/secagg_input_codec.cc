// Masked updates: the header. The lanes are a payload that nobody copies.
#include "proto/codec/secagg_codec.h"
#include "proto/codec/secagg_fields.h"
#include "proto/codec/update/bit_packing.h"

namespace coterie {
namespace {

// Quantized updates travel in lanes of what a sum needs (proto/messages/quantized_lanes.h), others in 16, 32 or 64.
constexpr uint32_t kLaneBitsMin = 8, kLaneBitsMax = 32;

}  // namespace

Bytes encode_head(const MaskedInput& message) {
  flatbuffers::FlatBufferBuilder builder;
  const auto unopened = flat::vector(builder, message.unopened);
  const wire::Digest32 session = flat::digest(message.session);
  const wire::Digest32 lanes = flat::digest(message.lanes);
  builder.Finish(wire::CreateMaskedInput(builder, &session, message.device, message.lane_bits, message.lane_count,
                                         &lanes, unopened));
  return flat::finish_head(builder, FrameKind::masked_input,
                           packed_bytes(message.lane_count, message.lane_bits).value_or(0));
}

Result<MaskedInput> decode_masked_input_head(const Prelude& prelude, ByteView header) {
  if (prelude.kind != FrameKind::masked_input) return flat::out_of_range("frame", "is not a masked_input");
  COT_ASSIGN(const auto root, flat::Root<wire::MaskedInput>::verify(header));
  MaskedInput message;
  message.session = flat::digest(*root->session());
  COT_ASSIGN(message.device, flat::roster_place(root->device(), "device"));
  message.lane_bits = root->lane_bits();
  if ((message.lane_bits < kLaneBitsMin || message.lane_bits > kLaneBitsMax) && message.lane_bits != 64) {
    return flat::out_of_range("lane_bits", "must be in [8, 32] or 64, is " + std::to_string(message.lane_bits));
  }
  message.lane_count = root->lane_count();
  COT_TRY(flat::payload_is(prelude, packed_bytes(message.lane_count, message.lane_bits)));
  message.lanes = flat::digest(*root->lanes());
  COT_ASSIGN(message.unopened, flat::devices(root->unopened(), "unopened"));
  COT_TRY(flat::is_not_among(message.device, message.unopened, "unopened"));
  return message;
}

Result<Decoded<MaskedInput>> decode_masked_input(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::masked_input));
  COT_ASSIGN(MaskedInput message, decode_masked_input_head(flat::prelude_of(frame), frame.header));
  return Decoded<MaskedInput>{std::move(message), frame.payload};
}

}  // namespace coterie
