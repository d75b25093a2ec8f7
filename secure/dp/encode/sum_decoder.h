// Summed lanes back to the mean of the updates, at the server.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "secure/dp/encode/encoding_terms.h"
#include "secure/dp/noise/byte_source.h"

namespace coterie {

// mean = sum / (2^fraction_bits * weight), rotated back; mean.size() is the updates' dimension, lanes as encode_update
// makes them, summed modulo 2^ring_bits or any multiple of it that Lane has. Returns the sum of the weights. The same
// bytes on every machine. An error if that is not in [1, contributors_max * weight_max]: a sum that was not unmasked,
// or of another spec. Precondition: validate(spec); rotation_signs if spec.rotated.
Result<uint64_t> decode_sum(std::span<const uint16_t> lanes, const EncodingTerms& spec,
                            const ByteSource* rotation_signs, std::span<float> mean);
Result<uint64_t> decode_sum(std::span<const uint32_t> lanes, const EncodingTerms& spec,
                            const ByteSource* rotation_signs, std::span<float> mean);
Result<uint64_t> decode_sum(std::span<const uint64_t> lanes, const EncodingTerms& spec,
                            const ByteSource* rotation_signs, std::span<float> mean);

}  // namespace coterie
