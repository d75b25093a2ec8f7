#include "device_sdk/agent/masked_update.h"

#include <vector>

#include "base/assert.h"
#include "proto/codec/secagg_codec.h"
#include "proto/ring/ring_vector.h"
#include "secure/crypto/digest.h"

namespace coterie {

Result<Bytes> encode_masked_update(const secagg::Masking& masking, std::span<const float> values, uint32_t weight,
                                   const FixedPointSpec& spec) {
  MaskedInput head = masking.head();
  COT_ASSERT(head.lane_bits == 64 && head.lane_count > values.size() + 1);
  std::vector<uint64_t> lanes(head.lane_count);
  COT_TRY(add_update(values, weight, spec, std::span(lanes).first(values.size())));
  lanes[values.size()] = weight;
  masking.apply(std::span(lanes));

  const ByteView payload(reinterpret_cast<const uint8_t*>(lanes.data()), lanes.size() * sizeof(uint64_t));
  head.lanes = content_digest(payload);
  Bytes frame = encode_head(head);
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

}  // namespace coterie
