// UpdateDecoder: how the values of an update lie in its payload, one row an UpdateEncoding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/update.h"

namespace coterie {

struct UpdateDecoder {
  UpdateEncoding encoding;
  // No update of these rules has a longer payload: what may be reserved before the first byte is read.
  uint64_t (*payload_bytes_max)(const UpdateRules& rules);
  // What is added up, as summed_as() says: in the payload itself where it holds that as it is, else decoded into
  // `memory`, which has to live as long as it. With eden levels, of which secure/quantize/eden.h makes what is added.
  // malformed if the payload is not that of so many values; whether each of them is finite and within the plan's bound
  // is seen as they are added. Preconditions: the payload is aligned for its elements, as that of a frame in memory is;
  // the header's counts and bits are those of the rules.
  Result<std::span<const float>> (*values)(const UpdateHeader& header, ByteView payload, const UpdateRules& rules,
                                           std::vector<float>& memory);
};

// Precondition: validate(plan) has passed this encoding.
const UpdateDecoder& update_decoder(UpdateEncoding encoding);

// How updates of a plan are added up without masks. Where they are quantized the levels are, each update once: its
// weight is in its levels (secure/quantize/quantization_grid.h). Precondition: as above.
FixedPointSpec summed_as(const UpdateRules& rules);
uint32_t summed_weight(const UpdateRules& rules, uint32_t weight);

}  // namespace coterie
