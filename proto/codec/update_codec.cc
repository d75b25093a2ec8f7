// Update frames. The values' own range (finite, within the plan's bound) is checked where they are added.
#include <cmath>
#include <optional>

#include "base/checked.h"
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/codec/update/bit_packing.h"
#include "proto/messages/quantized_lanes.h"

namespace coterie {
namespace {

// What the payload must have; none if 64 bits cannot count it.
std::optional<uint64_t> payload_bytes(UpdateEncoding encoding, uint64_t value_count, uint32_t bits) {
  if (encoding == UpdateEncoding::quantized) return packed_bytes(value_count, bits);
  return checked_multiply<uint64_t>(value_count, sizeof(float));
}

}  // namespace

Bytes encode_head(const UpdateHeader& message) {
  flatbuffers::FlatBufferBuilder builder;
  const wire::Digest32 model = flat::digest(message.model);
  builder.Finish(wire::CreateUpdate(builder, message.round.round.value(), message.round.attempt.value(), &model,
                                    static_cast<uint8_t>(message.encoding), message.value_count, message.weight,
                                    message.examples, message.loss_sum, message.correct, message.train_ms,
                                    static_cast<uint8_t>(message.bits)));
  const std::optional<uint64_t> payload = payload_bytes(message.encoding, message.value_count, message.bits);
  return flat::finish_head(builder, FrameKind::update, payload.value_or(0));
}

Result<Decoded<UpdateHeader>> decode_update(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::update));
  COT_ASSIGN(const auto root, flat::Root<wire::Update>::verify(frame.header));
  const auto encoding = static_cast<UpdateEncoding>(root->encoding());
  if (encoding < UpdateEncoding::float32 || encoding > UpdateEncoding::float32_clip_bit) {
    return flat::out_of_range("encoding",
                              "must be 1 (float32), 2 (float32_pooled), 3 (quantized) or 4 (float32_clip_bit)");
  }
  const bool is_quantized = encoding == UpdateEncoding::quantized;
  if (is_quantized ? root->bits() < 1 || root->bits() > kQuantizedBitsMax : root->bits() != 0) {
    return flat::out_of_range("bits", "must be in [1, 16] of a quantized update, and 0 of another");
  }
  if (payload_bytes(encoding, root->value_count(), root->bits()) != frame.payload.size()) {
    return flat::out_of_range("payload", "has " + std::to_string(frame.payload.size()) + " bytes, value_count says " +
                                             std::to_string(root->value_count()) +
                                             (is_quantized ? " levels of " + std::to_string(root->bits()) + " bits"
                                                           : std::string(" float32")));
  }
  if (root->weight() == 0) return flat::out_of_range("weight", "must be at least 1");
  if (!std::isfinite(root->loss_sum())) return flat::out_of_range("loss_sum", "must be finite");
  if (root->correct() > root->examples()) return flat::out_of_range("correct", "must be at most examples");
  return Decoded<UpdateHeader>{{.round = {RoundId(root->round()), Attempt(root->attempt())},
                                .model = flat::digest(*root->model()),
                                .encoding = encoding,
                                .value_count = root->value_count(),
                                .weight = root->weight(),
                                .examples = root->examples(),
                                .loss_sum = root->loss_sum(),
                                .correct = root->correct(),
                                .train_ms = root->train_ms(),
                                .bits = root->bits()},
                               frame.payload};
}

}  // namespace coterie
