// Frames of deltas between two versions of a model.
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/generated/model_generated.h"

namespace coterie {

Bytes encode_head(const ModelDelta& message, uint64_t payload_bytes) {
  flatbuffers::FlatBufferBuilder builder;
  const wire::Digest32 base = flat::digest(message.base), result = flat::digest(message.result);
  builder.Finish(model::CreateModelDelta(builder, &base, &result, static_cast<uint8_t>(message.bits)));
  return flat::finish_head(builder, FrameKind::model_delta, payload_bytes);
}

Result<Decoded<ModelDelta>> decode_model_delta(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::model_delta));
  COT_ASSIGN(const auto root, flat::Root<model::ModelDelta>::verify(frame.header));
  const ModelDelta delta{flat::digest(*root->base()), flat::digest(*root->result()), root->bits()};
  if (delta.bits < kDeltaBitsMin || delta.bits > kDeltaBitsMax) return flat::out_of_range("bits", "must be in [2, 8]");
  return Decoded<ModelDelta>{delta, frame.payload};
}

}  // namespace coterie
