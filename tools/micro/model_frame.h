// How a device knows the model that it was compiled with: the frame's sizes, and its header without the seal, which
// each version has of its own.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace coterie {

inline constexpr uint32_t kNoSeal = 0xffffffff;

struct MicroModelFrame {
  uint32_t header_bytes = 0;
  uint32_t seal_at = kNoSeal;  // in the header
  uint64_t header_hash = 0;    // FNV-1a, the seal's 32 bytes as zeros
  uint64_t payload_values = 0;
};

// From a model file's first bytes: its header and all that is before. Servers keep the header from version to version
// but for the seal. Errors: those of a frame that is no model's; invalid_argument
// where its parameters are more than 32 bits count.
Result<MicroModelFrame> micro_model_frame(std::span<const uint8_t> file);

}  // namespace coterie
