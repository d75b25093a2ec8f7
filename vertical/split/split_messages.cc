#include "vertical/split/split_messages.h"

#include <string>

namespace coterie::vertical {
namespace {

std::string message_name(uint16_t kind) {
  switch (static_cast<SplitMessage>(kind)) {
    case SplitMessage::activations: return "activations";
    case SplitMessage::gradients: return "gradients";
    case SplitMessage::scored: return "scored";
  }
  return "kind " + std::to_string(kind);
}

}  // namespace

Message split_message(PartyIndex to, SplitMessage kind, uint32_t step, ByteView tensor) {
  WireWriter writer;
  writer.reserve(kStepNumberBytes + tensor.size());
  writer.u32(step);
  writer.raw(tensor);
  return {.peer = to, .kind = static_cast<uint16_t>(kind), .payload = writer.take()};
}

Result<std::vector<float>> read_split_message(const Message& message, const ExpectedTensor& expected) {
  const auto wrong = [&](const std::string& what) {
    return Error(ErrorCode::malformed,
                 "split: party " + std::to_string(message.peer) + " sent " + message_name(message.kind) + what);
  };
  if (message.peer != expected.from || message.kind != static_cast<uint16_t>(expected.kind)) {
    return wrong(", expected " + message_name(static_cast<uint16_t>(expected.kind)) + " of party " +
                 std::to_string(expected.from));
  }
  const size_t bytes = cut_message_bytes(expected.rows, expected.width, expected.encoding);
  if (message.payload.size() != bytes) {
    return wrong(" of " + std::to_string(message.payload.size()) + " bytes, expected " + std::to_string(bytes));
  }
  WireReader reader(message.payload);
  if (const uint32_t step = reader.u32(); step != expected.step) {
    return wrong(" of step " + std::to_string(step) + ", expected " + std::to_string(expected.step));
  }
  return read_cut_tensor(reader.rest(), expected.rows, expected.width, expected.encoding);
}

}  // namespace coterie::vertical
