// ModelDelta: what the header of a delta says (proto/delta/model_delta.h has its payload).
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace coterie {

struct ModelDelta {
  Digest base;        // of the model file that it moves
  Digest result;      // of the one that comes of it
  uint32_t bits = 0;  // of a level
  friend bool operator==(const ModelDelta&, const ModelDelta&) = default;
};

}  // namespace coterie
