// The outputs that a training lowers a loss of, in plans. Ranges are for validate(plan) to judge.
#include "proto/codec/flat.h"
#include "proto/messages/training_head.h"

namespace coterie::flat {

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<wire::Head>>> build(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<TrainingHead>& heads) {
  if (heads.empty()) return 0;
  std::vector<flatbuffers::Offset<wire::Head>> offsets;
  for (const TrainingHead& head : heads) {
    const auto output = builder.CreateString(head.output);
    offsets.push_back(wire::CreateHead(builder, output, static_cast<uint8_t>(head.loss), head.weight));
  }
  return builder.CreateVector(offsets);
}

Result<std::vector<TrainingHead>> parse(const flatbuffers::Vector<flatbuffers::Offset<wire::Head>>& heads) {
  if (heads.size() > kHeadsMax) return out_of_range("heads", "must be at most " + std::to_string(kHeadsMax));
  std::vector<TrainingHead> parsed;
  for (const wire::Head* head : heads) {
    COT_ASSIGN(std::string output, text(head->output(), "output of a head", limits::kTextBytesMax));
    parsed.push_back({.output = std::move(output), .loss = static_cast<Loss>(head->loss()), .weight = head->weight()});
  }
  return parsed;
}

}  // namespace coterie::flat
