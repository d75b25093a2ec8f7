// DownloadRules: how an older version of a model leads to a round's: by deltas (proto/delta/model_delta.h), each to the
// base of the next, the last to the assignment's model.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace coterie {

inline constexpr uint32_t kDeltaBitsMin = 2, kDeltaBitsMax = 8;
inline constexpr size_t kDeltaChainMax = 16;
inline constexpr uint64_t kDeltaBytesMax = 1ull << 34;

struct DeltaFile {
  Digest base;  // of the model file that it moves
  Digest file;  // its own
  uint64_t bytes = 0;
  friend bool operator==(const DeltaFile&, const DeltaFile&) = default;
};

struct DownloadRules {
  uint32_t bits = 0;                   // of a value; 0: models are fetched whole, and not kept
  std::vector<DeltaFile> deltas = {};  // the oldest first
  bool has_deltas() const { return bits > 0; }
  friend bool operator==(const DownloadRules&, const DownloadRules&) = default;
};

}  // namespace coterie
