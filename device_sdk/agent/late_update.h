// An update on its way to a later round than it was trained for (buffered rounds, ADR 114).
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace coterie {

// What a device does to the values of an update that is late.
inline void weigh_late(std::span<float> values, float weight) {
  for (float& value : values) value *= weight;
}

// The update's frame, naming `round`, its values times `weight`; the model that was trained from stays. The same bytes
// for the same arguments. After the clip, not before it: else an update that is longer than the clip would lose nothing
// by being late. data_loss if `frame` is not one of float32 values.
Result<Bytes> late_update(ByteView frame, const RoundKey& round, float weight);

}  // namespace coterie
