#include "vertical/split/split_settings.h"

#include <array>
#include <cmath>
#include <string>

#include "vertical/split/cut_tensor.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {
namespace {

Status must_be_within(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return Error(ErrorCode::invalid_argument, std::string("split: ") + name + " is " + std::to_string(value) +
                                                ", expected " + std::to_string(low) + " to " + std::to_string(high));
}

Error not_together(const std::string& what) {
  return Error(ErrorCode::invalid_argument, "split: " + what, "not_together");
}

constexpr std::array<std::string_view, kSplitNetworks> kNetworkNames = {"mlp", "wide_deep", "deepfm", "two_tower"};
constexpr std::array<std::string_view, kCutEncodings> kEncodingNames = {"float32", "int8", "bit1"};
constexpr std::array<std::string_view, kGradientProtections> kProtectionNames = {"none", "max_norm", "marvell"};

Status check_protections(const SplitSettings& s) {
  if (s.label_epsilon != 0) {
    COT_TRY(must_be_within("label_epsilon", s.label_epsilon, kLabelEpsilonMin, kLabelEpsilonMax));
  }
  if (s.label_epsilon != 0 && s.protection != GradientProtection::none) {
    return not_together(
        "label_epsilon and gradient protection exclude each other: the protection looks at the labels, so "
        "that the epsilon would not be one of what is sent");
  }
  if (s.gradients == CutEncoding::bit1) {
    return not_together("gradients of one bit a number train nothing; expected float32 or int8");
  }
  if ((s.activation_clip > 0) != (s.activation_noise > 0)) {
    return not_together("activation_clip and activation_noise go together: each alone protects nothing");
  }
  if (s.activation_clip == 0) return {};
  COT_TRY(must_be_within("activation_clip", s.activation_clip, 1e-3, 1e3));
  return must_be_within("activation_noise", s.activation_noise, kActivationNoiseMin, kActivationNoiseMax);
}

}  // namespace

std::string_view split_network_name(SplitNetwork network) { return kNetworkNames[static_cast<size_t>(network)]; }
std::string_view cut_encoding_name(CutEncoding encoding) { return kEncodingNames[static_cast<size_t>(encoding)]; }
std::string_view gradient_protection_name(GradientProtection protection) {
  return kProtectionNames[static_cast<size_t>(protection)];
}

uint32_t cut_width(const SplitSettings& s) {
  switch (s.network) {
    case SplitNetwork::mlp:
    case SplitNetwork::two_tower: return s.cut;
    case SplitNetwork::wide_deep: return s.cut + 1;             // and what goes straight to the logit
    case SplitNetwork::deepfm: return s.cut + s.embedding + 1;  // and the sum of its embeddings
  }
  return s.cut;
}

Status check_split_settings(const SplitSettings& s) {
  COT_TRY(must_be_within("hidden", s.hidden, 0, kSplitWidthMax));
  COT_TRY(must_be_within("cut", s.cut, 1, kSplitWidthMax));
  COT_TRY(must_be_within("top", s.top, 0, kSplitWidthMax));
  COT_TRY(must_be_within("embedding", s.embedding, 1, kSplitEmbeddingMax));
  COT_TRY(must_be_within("buckets", s.buckets, 2, kSplitBucketsMax));
  COT_TRY(must_be_within("epochs", s.epochs, 1, kSplitEpochsMax));
  COT_TRY(must_be_within("batch", s.batch, 1, kSplitBatchMax));
  COT_TRY(must_be_within("rate", s.rate, 1e-6, 10));
  COT_TRY(must_be_within("in_flight", s.in_flight, 1, kInFlightMax));
  COT_TRY(must_be_within("commit_steps", s.commit_steps, 1, kCommitStepsMax));
  COT_TRY(check_protections(s));
  const size_t bytes = cut_message_bytes(s.batch, cut_width(s), CutEncoding::float32);
  if (bytes > kMessageBytesMax) {
    return not_together("a batch of " + std::to_string(s.batch) + " rows with a cut of " +
                        std::to_string(cut_width(s)) + " numbers has " + std::to_string(bytes) + " bytes, at most " +
                        std::to_string(kMessageBytesMax));
  }
  if ((s.in_flight - 1) * bytes > kInFlightBytesMax) {
    return not_together(std::to_string(s.in_flight) + " batches in flight of " + std::to_string(bytes) +
                        " bytes; all but one may have " + std::to_string(kInFlightBytesMax) + " together");
  }
  return {};
}

void write_split_settings(const SplitSettings& s, WireWriter& writer) {
  for (const uint8_t byte :
       {static_cast<uint8_t>(s.network), static_cast<uint8_t>(s.shuffle), static_cast<uint8_t>(s.is_adam),
        static_cast<uint8_t>(s.activations), static_cast<uint8_t>(s.gradients), static_cast<uint8_t>(s.protection),
        uint8_t{0}, uint8_t{0}}) {
    writer.u8(byte);
  }
  for (const uint32_t number :
       {s.hidden, s.cut, s.top, s.embedding, s.buckets, s.epochs, s.batch, s.in_flight, s.commit_steps}) {
    writer.u32(number);
  }
  writer.f64(s.rate);
  for (const double number : {s.label_epsilon, s.activation_clip, s.activation_noise}) writer.f64(number);
}

Result<SplitSettings> read_split_settings(WireReader& reader) {
  std::array<uint8_t, 8> bytes{};
  for (uint8_t& byte : bytes) byte = reader.u8();
  SplitSettings s;
  for (uint32_t* const number :
       {&s.hidden, &s.cut, &s.top, &s.embedding, &s.buckets, &s.epochs, &s.batch, &s.in_flight, &s.commit_steps}) {
    *number = reader.u32();
  }
  s.rate = reader.f64();
  for (double* const number : {&s.label_epsilon, &s.activation_clip, &s.activation_noise}) *number = reader.f64();
  if (!reader.ok() || bytes[0] >= kSplitNetworks || bytes[1] > 1 || bytes[2] > 1 || bytes[3] >= kCutEncodings ||
      bytes[4] >= kCutEncodings || bytes[5] >= kGradientProtections || bytes[6] != 0 || bytes[7] != 0) {
    return Error(ErrorCode::malformed, "split: these bytes are no settings");
  }
  s.network = static_cast<SplitNetwork>(bytes[0]);
  s.shuffle = bytes[1] == 1;
  s.is_adam = bytes[2] == 1;
  s.activations = static_cast<CutEncoding>(bytes[3]);
  s.gradients = static_cast<CutEncoding>(bytes[4]);
  s.protection = static_cast<GradientProtection>(bytes[5]);
  COT_TRY(check_split_settings(s));
  return s;
}

}  // namespace coterie::vertical
