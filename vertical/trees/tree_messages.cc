#include "vertical/trees/tree_messages.h"

namespace coterie::vertical {
namespace {

std::string name_of(uint16_t kind) {
  switch (static_cast<TreeMessage>(kind)) {
    case TreeMessage::hello: return "hello";
    case TreeMessage::ready: return "ready";
    case TreeMessage::gradients: return "gradients";
    case TreeMessage::splits: return "splits";
    case TreeMessage::choice: return "choice";
    case TreeMessage::partition: return "partition";
    case TreeMessage::level: return "level";
    case TreeMessage::sample: return "sample";
    case TreeMessage::ask: return "ask";
    case TreeMessage::reach: return "reach";
  }
  return "kind " + std::to_string(kind);
}

}  // namespace

Status expect_kind(const Message& message, TreeMessage expected) {
  if (message.payload.size() > kMessageBytesMax) {
    return Error(ErrorCode::too_large, "trees: a message has " + std::to_string(message.payload.size()) +
                                           " bytes, at most " + std::to_string(kMessageBytesMax));
  }
  if (message.kind == static_cast<uint16_t>(expected)) return {};
  return Error(ErrorCode::malformed, "trees: party " + std::to_string(message.peer) + " sent " + name_of(message.kind) +
                                         ", expected " + name_of(static_cast<uint16_t>(expected)));
}

Error unexpected_peer(const Message& message) {
  return Error(ErrorCode::malformed, "trees: party " + std::to_string(message.peer) + " sent " + name_of(message.kind) +
                                         ", expected nothing of it now");
}

Bytes level_payload(uint32_t tree, uint32_t level, ByteView splits) {
  WireWriter writer;
  writer.u32(tree);
  writer.u32(level);
  writer.raw(splits);
  return writer.take();
}

ContentDigester shape_of(const Digest& trees_before, uint32_t tree, std::span<const Bytes> levels) {
  ContentDigester shape;
  shape.update(trees_before.view());
  for (size_t level = 0; level < levels.size(); ++level) {
    shape.update(level_payload(tree, static_cast<uint32_t>(level), levels[level]));
  }
  return shape;
}

Status expect_number(const char* message, const char* name, uint32_t came, uint32_t expected) {
  if (came == expected) return {};
  return Error(ErrorCode::malformed, std::string("trees: ") + message + " is of " + name + " " + std::to_string(came) +
                                         ", expected " + std::to_string(expected));
}

}  // namespace coterie::vertical
