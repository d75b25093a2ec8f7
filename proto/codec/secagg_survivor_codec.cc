// Who survived: the question, the answer, and the request to unmask.
#include "proto/codec/secagg_codec.h"
#include "proto/codec/secagg_fields.h"

namespace coterie {
namespace {

using flatbuffers::FlatBufferBuilder;

Result<std::vector<SignedBy>> confirmations(const wire::UnmaskRequest& table, uint32_t size) {
  std::vector<SignedBy> confirmations;
  if (table.confirmations() == nullptr) return confirmations;
  if (table.confirmations()->size() > limits::kNeighboursMax) {
    return flat::out_of_range("confirmations", "must be at most " + std::to_string(limits::kNeighboursMax) + ", are " +
                                                   std::to_string(table.confirmations()->size()));
  }
  confirmations.reserve(table.confirmations()->size());
  for (const wire::SignedBy* entry : *table.confirmations()) {
    SignedBy confirmation;
    COT_ASSIGN(confirmation.device, flat::roster_place(entry->device(), "confirmation", size));
    if (!confirmations.empty() && confirmations.back().device >= confirmation.device) {
      return flat::out_of_range("confirmations", "must ascend strictly");
    }
    COT_ASSIGN(confirmation.signature, flat::bytes(entry->signature(), "signature", limits::kSignatureBytesMax));
    confirmations.push_back(std::move(confirmation));
  }
  return confirmations;
}

}  // namespace

Bytes encode(const ConfirmRequest& message) {
  FlatBufferBuilder builder;
  const auto survivors = flat::build(builder, message.survivors);
  const wire::Digest32 session = flat::digest(message.session);
  builder.Finish(wire::CreateConfirmRequest(builder, &session, survivors));
  return flat::finish(builder, FrameKind::confirm_request);
}

Result<ConfirmRequest> decode_confirm_request(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::confirm_request));
  COT_ASSIGN(const auto root, flat::Root<wire::ConfirmRequest>::verify(frame.header));
  ConfirmRequest message;
  message.session = flat::digest(*root->session());
  COT_ASSIGN(message.survivors, flat::parse(*root->survivors()));
  return message;
}

Bytes encode(const Confirmation& message) {
  FlatBufferBuilder builder;
  const auto signature = flat::vector(builder, ByteView(message.signature));
  const wire::Digest32 session = flat::digest(message.session);
  builder.Finish(wire::CreateConfirmation(builder, &session, message.device, signature));
  return flat::finish(builder, FrameKind::confirmation);
}

Result<Confirmation> decode_confirmation(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::confirmation));
  COT_ASSIGN(const auto root, flat::Root<wire::Confirmation>::verify(frame.header));
  Confirmation message;
  message.session = flat::digest(*root->session());
  COT_ASSIGN(message.device, flat::roster_place(root->device(), "device"));
  COT_ASSIGN(message.signature, flat::bytes(root->signature(), "signature", limits::kSignatureBytesMax));
  return message;
}

Bytes encode(const UnmaskRequest& message) {
  FlatBufferBuilder builder;
  const auto survivors = flat::build(builder, message.survivors);
  std::vector<flatbuffers::Offset<wire::SignedBy>> offsets;
  offsets.reserve(message.confirmations.size());
  for (const SignedBy& entry : message.confirmations) {
    offsets.push_back(wire::CreateSignedBy(builder, entry.device, flat::vector(builder, ByteView(entry.signature))));
  }
  const auto confirmations = builder.CreateVector(offsets);
  const wire::Digest32 session = flat::digest(message.session);
  builder.Finish(wire::CreateUnmaskRequest(builder, &session, survivors, confirmations));
  return flat::finish(builder, FrameKind::unmask_request);
}

Result<UnmaskRequest> decode_unmask_request(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::unmask_request));
  COT_ASSIGN(const auto root, flat::Root<wire::UnmaskRequest>::verify(frame.header));
  UnmaskRequest message;
  message.session = flat::digest(*root->session());
  COT_ASSIGN(message.survivors, flat::parse(*root->survivors()));
  COT_ASSIGN(message.confirmations, confirmations(*root, message.survivors.size));
  return message;
}

}  // namespace coterie
