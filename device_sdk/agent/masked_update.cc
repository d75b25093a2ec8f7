#include "device_sdk/agent/masked_update.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "proto/codec/secagg_codec.h"
#include "proto/codec/update/bit_packing.h"
#include "proto/messages/quantized_lanes.h"
#include "proto/ring/ring_vector.h"
#include "secure/crypto/digest.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/dp/encode/update_encoder.h"
#include "secure/quantize/update_quantizer.h"

namespace coterie {
namespace {

Bytes frame_of(const secagg::Masking& masking, ByteView payload) {
  MaskedInput head = masking.head();
  head.lanes = content_digest(payload);
  Bytes frame = encode_head(head);
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

// Masks `lanes`, which hold the update, and puts all behind the header.
template <typename Lane>
Bytes masked_frame(const secagg::Masking& masking, std::vector<Lane>& lanes) {
  masking.apply(std::span(lanes));
  return frame_of(masking, {reinterpret_cast<const uint8_t*>(lanes.data()), lanes.size() * sizeof(Lane)});
}

Result<Bytes> with_fixed_point(const secagg::Masking& masking, const Plan& plan, std::span<const float> values,
                               uint32_t weight) {
  std::vector<uint64_t> lanes(masking.head().lane_count);
  COT_ASSERT(lanes.size() > values.size() + 1);
  COT_TRY(add_update(values, weight, plan.update.fixed_point, std::span(lanes).first(values.size())));
  // Lanes of a masked update: value * weight on the grid [value_count] | weight | check lanes, which masking writes.
  lanes[values.size()] = weight;
  return masked_frame(masking, lanes);
}

template <typename Lane>
Result<Bytes> with_noise(const secagg::Masking& masking, const secagg::Client& client, const PrivacyRules& rules,
                         std::span<const float> values) {
  const EncodingTerms spec = encoding_of(rules);
  COT_ASSIGN(const NoiseSampler sampler, device_sampler(rules));
  COT_ASSIGN(const KeyStreamSource signs, rotation_signs(client.context()));
  // From the session's seed: a device that is started again comes to the same bytes. Fresh noise on the same update
  // would be a second release of it.
  COT_ASSIGN(KeyStream rounding_stream, client.key_stream("rounding"));
  COT_ASSIGN(KeyStream noise_stream, client.key_stream("noise"));
  const KeyStreamSource rounding(std::move(rounding_stream)), noise(std::move(noise_stream));
  const EncodingInputs inputs{
      .rounding = rounding, .rotation_signs = spec.rotated ? &signs : nullptr, .sampler = &sampler, .noise = &noise};
  std::vector<Lane> lanes(masking.head().lane_count);
  // Lanes: coordinates, padded to whole rotation blocks [encoded_lanes - 1] | weight | check lanes.
  const std::span<Lane> own = std::span(lanes).first(encoded_lanes(spec, values.size()));
  COT_TRY(encode_update(values, 1, spec, inputs, own));  // weights would not be private
  return masked_frame(masking, lanes);
}

template <typename Lane>
Result<Bytes> with_levels(const secagg::Masking& masking, const UpdateRules& rules, ByteView packed, uint32_t weight) {
  std::vector<Lane> lanes(masking.head().lane_count);
  std::vector<uint16_t> digits(weight_digits(rules.quantization, rules.fixed_point.weight_max));
  COT_ASSERT(lanes.size() > rules.value_count + digits.size());
  COT_TRY(unpack_bits(packed, rules.quantization.bits, std::span(lanes).first(rules.value_count)));
  write_weight_digits(weight, rules.quantization, digits);
  std::ranges::copy(digits, lanes.begin() + static_cast<std::ptrdiff_t>(rules.value_count));
  masking.apply(std::span(lanes));
  const uint32_t lane_bits = masking.head().lane_bits;
  Bytes payload(packed_bytes(lanes.size(), lane_bits).value());
  pack_bits(std::span<const Lane>(lanes), lane_bits, payload);
  return frame_of(masking, payload);
}

}  // namespace

Result<Bytes> encode_masked_levels(const secagg::Masking& masking, const Plan& plan, ByteView packed, uint32_t weight) {
  // Masks are streams of 16 or 32 bits a lane, of which the lane has as many as the sum.
  return masking.head().lane_bits <= 16 ? with_levels<uint16_t>(masking, plan.update, packed, weight)
                                        : with_levels<uint32_t>(masking, plan.update, packed, weight);
}

Result<Bytes> encode_masked_update(const secagg::Masking& masking, const secagg::Client& client, const Plan& plan,
                                   std::span<const float> values, uint32_t weight) {
  if (plan.privacy.level != SecurityLevel::active_dp) return with_fixed_point(masking, plan, values, weight);
  switch (masking.head().lane_bits) {
    case 16: return with_noise<uint16_t>(masking, client, plan.privacy, values);
    case 32: return with_noise<uint32_t>(masking, client, plan.privacy, values);
    default: return with_noise<uint64_t>(masking, client, plan.privacy, values);
  }
}

}  // namespace coterie
