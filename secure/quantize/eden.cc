#include "secure/quantize/eden.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "proto/messages/quantization.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/secret.h"
#include "secure/dp/noise/key_stream_source.h"
#include "secure/quantize/shared_rotation.h"

namespace coterie {
namespace {

constexpr size_t kHalfMax = size_t{1} << (kEdenBitsMax - 1);

// The centroids above 0 that Lloyd's and Max's conditions have for a normal variable of variance 1: each is the mean
// between the middles to its neighbours. Those below 0 are the same.
constexpr std::array<std::array<float, kHalfMax>, kEdenBitsMax> kCentroids = {
    {{0.7978845608f},
     {0.4527800346f, 1.5104176085f},
     {0.2450941789f, 0.7560052812f, 1.3439092785f, 2.1519457045f},
     {0.1283950299f, 0.3880482995f, 0.6567591185f, 0.9423404565f, 1.2562311973f, 1.6180463860f, 2.0690172265f,
      2.7325895710f}}};

std::span<const float> centroids_above(uint32_t bits) {
  COT_ASSERT(bits >= 1 && bits <= kEdenBitsMax);
  return std::span(kCentroids[bits - 1]).first(size_t{1} << (bits - 1));
}

// By level, the lowest first.
std::vector<float> centroids_of(uint32_t bits) {
  const std::span<const float> above = centroids_above(bits);
  std::vector<float> all(above.rbegin(), above.rend());
  for (float& centroid : all) centroid = -centroid;
  all.insert(all.end(), above.begin(), above.end());
  return all;
}

Secret<32> key_of(uint64_t seed, std::string_view purpose, uint64_t number) {
  std::array<uint8_t, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(seed >> (8 * i));
  Secret<32> key = hkdf<32>({}, bytes, DomainFields(purpose).add(number).view());
  wipe(bytes);
  return key;
}

Result<KeyStreamSource> signs_of(uint64_t rotation_seed, uint64_t turn) {
  COT_ASSIGN(KeyStream stream,
             KeyStream::make(CipherSuite::aes256_ctr, key_of(rotation_seed, "coterie/v1/eden-rotation", turn)));
  return KeyStreamSource(std::move(stream));
}

}  // namespace

Result<EdenUpdate> encode_eden(std::span<const float> values, uint32_t bits, uint64_t rotation_seed) {
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
    return Error(ErrorCode::invalid_argument, "update: has a value that is not a finite number");
  }
  const std::vector<float> centroids = centroids_of(bits);
  EdenUpdate update{.scale = 0, .levels = std::vector<uint16_t>(values.size())};
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  if (squares == 0) return update;
  std::vector<float> turned(values.begin(), values.end());
  for (const uint64_t turn : {0u, 1u}) {
    COT_ASSIGN(const KeyStreamSource signs, signs_of(rotation_seed, turn));
    rotate_whole(signs, turned);
  }
  std::vector<double> middles;  // between neighbours
  for (size_t i = 1; i < centroids.size(); ++i) {
    middles.push_back((static_cast<double>(centroids[i - 1]) + static_cast<double>(centroids[i])) / 2);
  }
  const double norm = std::sqrt(squares), to_unit = std::sqrt(static_cast<double>(values.size())) / norm;
  double along = 0, own_squares = 0;  // of y and c, and of c alone
  for (size_t i = 0; i < turned.size(); ++i) {
    const double value = static_cast<double>(turned[i]);
    const auto level = std::ranges::upper_bound(middles, value * to_unit) - middles.begin();
    const double centroid = static_cast<double>(centroids[static_cast<size_t>(level)]);
    update.levels[i] = static_cast<uint16_t>(level);
    along += value * centroid;
    own_squares += centroid * centroid;
  }
  update.scale = static_cast<float>(std::min(squares / along, kEdenNormMax * norm / std::sqrt(own_squares)));
  wipe({reinterpret_cast<uint8_t*>(turned.data()), turned.size() * sizeof(float)});
  return update;
}

Status decode_eden(float scale, uint32_t bits, uint64_t rotation_seed, float value_abs_max, std::span<float> levels) {
  std::vector<float> values = centroids_of(bits);
  for (float& value : values) value *= scale;
  for (float& level : levels) level = values[static_cast<size_t>(level)];
  for (const uint64_t turn : {1u, 0u}) {
    COT_ASSIGN(const KeyStreamSource signs, signs_of(rotation_seed, turn));
    rotate_whole_back(signs, levels);
  }
  // Not a number stays what it is.
  for (float& value : levels) value = std::clamp(value, -value_abs_max, value_abs_max);
  return {};
}

uint64_t eden_rotation_seed(uint64_t training_seed) {
  const Secret<32> key = key_of(training_seed, "coterie/v1/eden-seed", 0);
  uint64_t seed = 0;
  for (size_t i = 0; i < 8; ++i) seed |= uint64_t{key.reveal()[i]} << (8 * i);
  return seed;
}

}  // namespace coterie
