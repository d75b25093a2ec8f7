// An update to lanes, on the device: checked, clipped, rotated, rounded, noised. No clock, no entropy: what is random
// is handed in.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "secure/dp/encode/encoding_terms.h"
#include "secure/dp/noise/noise_sampler.h"

namespace coterie {

struct EncodingInputs {
  const ByteSource& rounding;                  // secret, fresh each round
  const ByteSource* rotation_signs = nullptr;  // the cohort's; needed if spec.rotated
  const NoiseSampler* sampler = nullptr;       // none: no noise
  const ByteSource* noise = nullptr;           // secret, fresh each round; needed with a sampler
};

struct EncodedUpdate {
  // Whether the norm was above clip_norm: what adaptive clipping wants to know. Private until it is noised itself.
  bool clipped = false;
};

// lanes.size() == encoded_lanes(spec, update.size()), Lane of lane_bits(spec); bits from ring_bits on are 0. The last
// lane is the weight, without noise: with noise weights must be 1, so that it counts contributors, which the protocol
// tells anyway. Errors, before any lane is written: a value is not finite, a weight is out of range, noise with
// weights. Precondition: validate(spec).
Result<EncodedUpdate> encode_update(std::span<const float> update, uint32_t weight, const EncodingTerms& spec,
                                    const EncodingInputs& inputs, std::span<uint16_t> lanes);
Result<EncodedUpdate> encode_update(std::span<const float> update, uint32_t weight, const EncodingTerms& spec,
                                    const EncodingInputs& inputs, std::span<uint32_t> lanes);
Result<EncodedUpdate> encode_update(std::span<const float> update, uint32_t weight, const EncodingTerms& spec,
                                    const EncodingInputs& inputs, std::span<uint64_t> lanes);

}  // namespace coterie
