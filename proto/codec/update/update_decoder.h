// UpdateDecoder: how the values of an update lie in its payload, one row an UpdateEncoding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/plan.h"

namespace coterie {

struct UpdateDecoder {
  UpdateEncoding encoding;
  // No update of so many values has a longer payload: what may be reserved before the first byte is read.
  uint64_t (*payload_bytes_max)(uint64_t value_count);
  // The values: in the payload itself where it holds them as they are, else decoded into `memory`, which has to live as
  // long as they. malformed if the payload is not that of so many values; whether each of them is finite and within the
  // plan's bound is seen as they are added. Precondition: the payload is aligned for its elements, as that of a frame
  // in memory is.
  Result<std::span<const float>> (*values)(ByteView payload, uint64_t value_count, std::vector<float>& memory);
};

// Precondition: validate(plan) has passed this encoding.
const UpdateDecoder& update_decoder(UpdateEncoding encoding);

}  // namespace coterie
