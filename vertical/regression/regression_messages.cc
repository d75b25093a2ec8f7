#include "vertical/regression/regression_messages.h"

#include <string>

namespace coterie::vertical {
namespace {

constexpr size_t kStepBytes = 4;

std::string message_name(uint16_t kind) {
  switch (static_cast<RegressionMessage>(kind)) {
    case RegressionMessage::shape: return "shape";
    case RegressionMessage::columns: return "columns";
    case RegressionMessage::weights: return "weights";
    case RegressionMessage::margins: return "margins";
    case RegressionMessage::residuals: return "residuals";
    case RegressionMessage::gradients: return "gradients";
    case RegressionMessage::last: return "last";
    case RegressionMessage::label_weights: return "label_weights";
    case RegressionMessage::stop: return "stop";
    case RegressionMessage::scores: return "scores";
    case RegressionMessage::products: return "products";
    case RegressionMessage::moments: return "moments";
    case RegressionMessage::feature_weights: return "feature_weights";
    case RegressionMessage::dealt_seed: return "dealt_seed";
    case RegressionMessage::dealt_words: return "dealt_words";
  }
  return "kind " + std::to_string(kind);
}

Error malformed_message(const Message& message, const std::string& what) {
  return Error(ErrorCode::malformed,
               "regression: party " + std::to_string(message.peer) + " sent " + message_name(message.kind) + what);
}

}  // namespace

Message word_message(PartyIndex to, RegressionMessage kind, uint32_t step,
                     std::initializer_list<std::span<const Word>> parts) {
  Message message{.peer = to, .kind = static_cast<uint16_t>(kind), .payload = {}};
  size_t words = 0;
  for (const auto& part : parts) words += part.size();
  message.payload.reserve(kStepBytes + words * sizeof(Word));
  for (int shift = 0; shift < 32; shift += 8) message.payload.push_back(static_cast<uint8_t>(step >> shift));
  for (const auto& part : parts) {
    for (const Word word : part) {
      for (int shift = 0; shift < 64; shift += 8) message.payload.push_back(static_cast<uint8_t>(word >> shift));
    }
  }
  return message;
}

Status expect_regression_message(const Message& message, RegressionMessage kind) {
  if (message.payload.size() > kMessageBytesMax) {
    return Error(ErrorCode::too_large, "regression: a message has " + std::to_string(message.payload.size()) +
                                           " bytes, at most " + std::to_string(kMessageBytesMax));
  }
  if (message.kind == static_cast<uint16_t>(kind)) return {};
  return malformed_message(message, ", expected " + message_name(static_cast<uint16_t>(kind)));
}

Result<std::vector<Word>> read_word_message(const Message& message, RegressionMessage kind, uint32_t step,
                                            size_t words) {
  COT_TRY(expect_regression_message(message, kind));
  const ByteView bytes = message.payload;
  if (bytes.size() != kStepBytes + words * sizeof(Word)) {
    return malformed_message(message, " of " + std::to_string(bytes.size()) + " bytes, expected " +
                                          std::to_string(kStepBytes + words * sizeof(Word)));
  }
  uint32_t came = 0;
  for (size_t i = 0; i < kStepBytes; ++i) came |= uint32_t{bytes[i]} << (8 * i);
  // Each message names its step: one that is late by a turn must not be taken for this one's.
  if (came != step) {
    return malformed_message(message, " of step " + std::to_string(came) + ", expected " + std::to_string(step));
  }
  std::vector<Word> read(words);
  for (size_t i = 0; i < words; ++i) {
    for (size_t byte = 0; byte < sizeof(Word); ++byte) {
      read[i] |= Word{bytes[kStepBytes + 8 * i + byte]} << (8 * byte);
    }
  }
  return read;
}

}  // namespace coterie::vertical
