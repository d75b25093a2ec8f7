#include "vertical/exact/exact_messages.h"

#include <string>

namespace coterie::vertical {
namespace {

// Paillier's larger one, of 3072 bits.
constexpr size_t kKeyBytesMax = 384;

std::string name_of(uint16_t kind) {
  switch (static_cast<ExactMessage>(kind)) {
    case ExactMessage::hello: return "hello";
    case ExactMessage::ready: return "ready";
    case ExactMessage::margins: return "margins";
    case ExactMessage::residuals: return "residuals";
    case ExactMessage::masked: return "masked";
    case ExactMessage::sums: return "sums";
  }
  return "kind " + std::to_string(kind);
}

}  // namespace

Message exact_message(PartyIndex to, ExactMessage kind, WireWriter& writer) {
  return {.peer = to, .kind = static_cast<uint16_t>(kind), .payload = writer.take()};
}

Error exact_malformed(const Message& message, const std::string& what) {
  return Error(ErrorCode::malformed,
               "regression: party " + std::to_string(message.peer) + " sent " + name_of(message.kind) + what);
}

Status expect_exact(const Message& message, ExactMessage kind, size_t bytes) {
  if (message.kind != static_cast<uint16_t>(kind)) {
    return exact_malformed(message, ", expected " + name_of(static_cast<uint16_t>(kind)));
  }
  if (message.payload.size() != bytes) {
    return exact_malformed(
        message, " of " + std::to_string(message.payload.size()) + " bytes, expected " + std::to_string(bytes));
  }
  return {};
}

Result<WireReader> read_exact_step(const Message& message, ExactMessage kind, uint32_t step, size_t bytes) {
  COT_TRY(expect_exact(message, kind, bytes));
  WireReader reader(message.payload);
  if (const uint32_t came = reader.u32(); came != step) {
    return exact_malformed(message, " of step " + std::to_string(came) + ", expected " + std::to_string(step));
  }
  return reader;
}

Message write_exact_hello(PartyIndex to, const ExactHello& hello) {
  WireWriter writer;
  writer.u32(kExactProtocolVersion);
  writer.u32(hello.settings.epochs);
  writer.u32(hello.settings.batch);
  writer.f64(hello.settings.rate);
  writer.f64(hello.settings.lambda);
  writer.u32(hello.rows);
  writer.u32(hello.label_columns);
  writer.raw(hello.key);
  return exact_message(to, ExactMessage::hello, writer);
}

Result<ExactHello> read_exact_hello(const Message& message) {
  if (message.payload.size() < kExactHelloBytes || message.payload.size() > kExactHelloBytes + kKeyBytesMax) {
    COT_TRY(expect_exact(message, ExactMessage::hello, kExactHelloBytes));
  }
  COT_TRY(expect_exact(message, ExactMessage::hello, message.payload.size()));
  WireReader reader(message.payload);
  if (const uint32_t version = reader.u32(); version != kExactProtocolVersion) {
    return exact_malformed(
        message, " of version " + std::to_string(version) + ", expected " + std::to_string(kExactProtocolVersion));
  }
  ExactHello hello;
  hello.settings.epochs = reader.u32();
  hello.settings.batch = reader.u32();
  hello.settings.rate = reader.f64();
  hello.settings.lambda = reader.f64();
  hello.rows = reader.u32();
  hello.label_columns = reader.u32();
  hello.key.assign(reader.rest().begin(), reader.rest().end());
  return hello;
}

}  // namespace coterie::vertical
