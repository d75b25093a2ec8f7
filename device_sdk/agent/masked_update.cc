#include "device_sdk/agent/masked_update.h"

#include <vector>

#include "base/assert.h"
#include "proto/codec/secagg_codec.h"
#include "proto/ring/ring_vector.h"
#include "secure/crypto/digest.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/dp/encode/update_encoder.h"

namespace coterie {
namespace {

// Masks `lanes`, which hold the update, and puts all behind the header.
template <typename Lane>
Bytes masked_frame(const secagg::Masking& masking, std::vector<Lane>& lanes) {
  masking.apply(std::span(lanes));
  const ByteView payload(reinterpret_cast<const uint8_t*>(lanes.data()), lanes.size() * sizeof(Lane));
  MaskedInput head = masking.head();
  head.lanes = content_digest(payload);
  Bytes frame = encode_head(head);
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

Result<Bytes> with_fixed_point(const secagg::Masking& masking, const Plan& plan, std::span<const float> values,
                               uint32_t weight) {
  std::vector<uint64_t> lanes(masking.head().lane_count);
  COT_ASSERT(lanes.size() > values.size() + 1);
  COT_TRY(add_update(values, weight, plan.update.fixed_point, std::span(lanes).first(values.size())));
  lanes[values.size()] = weight;
  return masked_frame(masking, lanes);
}

template <typename Lane>
Result<Bytes> with_noise(const secagg::Masking& masking, const secagg::Client& client, const PrivacyRules& rules,
                         std::span<const float> values) {
  const EncodingTerms spec = encoding_of(rules);
  COT_ASSIGN(const NoiseSampler sampler, device_sampler(rules));
  COT_ASSIGN(const KeyStreamSource signs, rotation_signs(client.context()));
  COT_ASSIGN(KeyStream rounding_stream, client.key_stream("rounding"));
  COT_ASSIGN(KeyStream noise_stream, client.key_stream("noise"));
  const KeyStreamSource rounding(std::move(rounding_stream)), noise(std::move(noise_stream));
  const EncodingInputs inputs{
      .rounding = rounding, .rotation_signs = spec.rotated ? &signs : nullptr, .sampler = &sampler, .noise = &noise};
  std::vector<Lane> lanes(masking.head().lane_count);
  const std::span<Lane> own = std::span(lanes).first(encoded_lanes(spec, values.size()));
  COT_TRY(encode_update(values, 1, spec, inputs, own));  // weights would not be private
  return masked_frame(masking, lanes);
}

}  // namespace

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
