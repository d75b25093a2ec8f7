#include "fl_server/records/canary.h"

#include <bit>
#include <cmath>

#include "secure/crypto/mac.h"

namespace coterie {
namespace {

constexpr std::string_view kShareDomain = "coterie canary share v1";

void put(Bytes& out, uint64_t word) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<uint8_t>(word >> shift));
}

uint64_t word_at(ByteView bytes, size_t index) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) word |= uint64_t{bytes[8 * index + i]} << (8 * i);
  return word;
}

// Every number of it that is a double, in the order of the encoding.
template <typename Heard, typename Visit>
void for_each_number(Heard& heard, Visit visit) {
  for (auto& log : heard.harm) visit(log);
  for (auto& log : heard.harmless) visit(log);
  visit(heard.sum);
  visit(heard.clipped_sum);
  visit(heard.log_harm_max);
  visit(heard.log_harmless_max);
}

constexpr size_t kWords = 2 * BettingCapital::kGamblers + 5;

}  // namespace

bool is_in_share(const Digest& salt, uint32_t percent, const DeviceId& device) {
  const Digest drawn = mac(MacKey(salt.bytes), kShareDomain, device.bytes);
  const uint64_t number = word_at(drawn.view(), 0);
  return number / (UINT64_MAX / 100 + 1) < percent;
}

Bytes encode_heard(const HeardHarms& heard) {
  Bytes bytes;
  bytes.reserve(8 * kWords);
  for_each_number(heard, [&](double value) { put(bytes, std::bit_cast<uint64_t>(value)); });
  put(bytes, heard.heard);
  return bytes;
}

Result<HeardHarms> decode_heard(ByteView bytes) {
  HeardHarms heard;
  bool is_finite = bytes.size() == 8 * kWords;
  size_t index = 0;
  if (is_finite) {
    for_each_number(heard, [&](double& value) {
      value = std::bit_cast<double>(word_at(bytes, index++));
      is_finite = is_finite && std::isfinite(value);
    });
    const uint64_t count = word_at(bytes, index);
    is_finite = is_finite && count <= kCanaryHeardMax;
    heard.heard = static_cast<uint32_t>(count);
  }
  if (!is_finite) return Error(ErrorCode::data_loss, "what a canary has heard is damaged in the database");
  return heard;
}

}  // namespace coterie
