// WidthLimits: what an app lets its device train, in jobs with widths (device_width.h).
#pragma once

#include <cstdint>

#include "proto/messages/width_share.h"

namespace coterie {

struct WidthLimits {
  uint32_t width_max = kWholeWidth;  // the device trains nothing wider
  uint64_t training_bytes_max = 0;   // nor what takes more memory (TrainingMemory::bytes()); 0: no limit
};

}  // namespace coterie
