// Update frames. The values' own range (finite, within the plan's bound) is checked where they are added.
#include <cmath>
#include <optional>

#include "base/checked.h"
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/codec/update/bit_packing.h"
#include "proto/codec/update/sparse_values.h"
#include "proto/messages/quantized_lanes.h"

namespace coterie {
namespace {

// What the payload must have; none if 64 bits cannot count it.
std::optional<uint64_t> payload_bytes(const UpdateHeader& header) {
  switch (header.encoding) {
    case UpdateEncoding::quantized:
    case UpdateEncoding::eden: return packed_bytes(header.value_count, header.bits);
    case UpdateEncoding::top_k:
      return sparse_bytes({.value_count = header.value_count, .sent_count = header.sent_count, .bits = header.bits});
    default: return checked_multiply<uint64_t>(header.value_count, sizeof(float));
  }
}

std::string payload_words(const UpdateHeader& header) {
  if (header.encoding == UpdateEncoding::top_k) {
    return " values, of which " + std::to_string(header.sent_count) + " of " + std::to_string(header.bits) + " bits";
  }
  return header.bits == 0 ? " float32" : " levels of " + std::to_string(header.bits) + " bits";
}

bool has_good_bits(const UpdateHeader& header) {
  switch (header.encoding) {
    case UpdateEncoding::quantized: return header.bits >= 1 && header.bits <= kQuantizedBitsMax;
    case UpdateEncoding::eden: return header.bits >= 1 && header.bits <= kEdenBitsMax;
    case UpdateEncoding::top_k: return is_top_k_bits(header.bits);
    default: return header.bits == 0;
  }
}

// What only some encodings have.
Status check_own(const UpdateHeader& header) {
  const bool is_top_k = header.encoding == UpdateEncoding::top_k, is_eden = header.encoding == UpdateEncoding::eden;
  if (!has_good_bits(header)) {
    return flat::out_of_range(
        "bits",
        "must be in [1, 16] of a quantized update, in [1, 4] with eden, 32 or in [2, 16] with top_k, and 0 of "
        "another");
  }
  if (!is_top_k && header.sent_count != 0) return flat::out_of_range("sent_count", "must be 0 but with top_k");
  const bool has_scale = is_eden || (is_top_k && header.bits != kTopKFloatBits);
  if (has_scale ? !(header.scale >= 0 && std::isfinite(header.scale)) : header.scale != 0) {
    return flat::out_of_range("scale", "must be finite and not negative with levels of its own, and 0 without");
  }
  if (!is_eden && header.rotation_seed != 0) return flat::out_of_range("rotation_seed", "must be 0 but with eden");
  return {};
}

}  // namespace

Bytes encode_head(const UpdateHeader& message) {
  flatbuffers::FlatBufferBuilder builder;
  const wire::Digest32 model = flat::digest(message.model);
  builder.Finish(wire::CreateUpdate(builder, message.round.round.value(), message.round.attempt.value(), &model,
                                    static_cast<uint8_t>(message.encoding), message.value_count, message.weight,
                                    message.examples, message.loss_sum, message.correct, message.train_ms,
                                    static_cast<uint8_t>(message.bits), message.sent_count, message.scale,
                                    message.rotation_seed));
  const std::optional<uint64_t> payload = payload_bytes(message);
  return flat::finish_head(builder, FrameKind::update, payload.value_or(0));
}

Result<Decoded<UpdateHeader>> decode_update(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::update));
  COT_ASSIGN(const auto root, flat::Root<wire::Update>::verify(frame.header));
  UpdateHeader header{.round = {RoundId(root->round()), Attempt(root->attempt())},
                      .model = flat::digest(*root->model()),
                      .encoding = static_cast<UpdateEncoding>(root->encoding()),
                      .value_count = root->value_count(),
                      .weight = root->weight(),
                      .examples = root->examples(),
                      .loss_sum = root->loss_sum(),
                      .correct = root->correct(),
                      .train_ms = root->train_ms(),
                      .bits = root->bits(),
                      .sent_count = root->sent_count(),
                      .scale = root->scale(),
                      .rotation_seed = root->rotation_seed()};
  if (header.encoding < UpdateEncoding::float32 || header.encoding > UpdateEncoding::eden) {
    return flat::out_of_range("encoding",
                              "must be 1 (float32), 2 (float32_pooled), 3 (quantized), 4 (float32_clip_bit), 5 (top_k) "
                              "or 6 (eden)");
  }
  COT_TRY(check_own(header));
  if (payload_bytes(header) != frame.payload.size()) {
    return flat::out_of_range("payload", "has " + std::to_string(frame.payload.size()) + " bytes, value_count says " +
                                             std::to_string(header.value_count) + payload_words(header));
  }
  if (header.weight == 0) return flat::out_of_range("weight", "must be at least 1");
  if (!std::isfinite(header.loss_sum)) return flat::out_of_range("loss_sum", "must be finite");
  if (header.correct > header.examples) return flat::out_of_range("correct", "must be at most examples");
  return Decoded<UpdateHeader>{header, frame.payload};
}

}  // namespace coterie
