// Update frames. The values' own range (finite, within the plan's bound) is checked where they are added.
#include <cmath>

#include "proto/codec/codec.h"
#include "proto/codec/flat.h"

namespace coterie {

Bytes encode_head(const UpdateHeader& message) {
  flatbuffers::FlatBufferBuilder builder;
  const wire::Digest32 model = flat::digest(message.model);
  builder.Finish(wire::CreateUpdate(builder, message.round.round.value(), message.round.attempt.value(), &model,
                                    static_cast<uint8_t>(message.encoding), message.value_count, message.weight,
                                    message.examples, message.loss_sum, message.correct, message.train_ms));
  return flat::finish_head(builder, FrameKind::update, message.value_count * sizeof(float));
}

Result<Decoded<UpdateHeader>> decode_update(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::update));
  COT_ASSIGN(const auto root, flat::Root<wire::Update>::verify(frame.header));
  const auto encoding = static_cast<UpdateEncoding>(root->encoding());
  if (encoding != UpdateEncoding::float32 && encoding != UpdateEncoding::float32_pooled) {
    return flat::out_of_range("encoding", "must be 1 (float32) or 2 (float32_pooled)");
  }
  if (root->value_count() != frame.payload.size() / sizeof(float) || frame.payload.size() % sizeof(float) != 0) {
    return flat::out_of_range("payload", "has " + std::to_string(frame.payload.size()) + " bytes, value_count says " +
                                             std::to_string(root->value_count()) + " float32");
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
                                .train_ms = root->train_ms()},
                               frame.payload};
}

}  // namespace coterie
