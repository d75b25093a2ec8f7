// Which op of one graph stands where an op of another one does. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

struct LayerPair {
  uint32_t a = 0, b = 0;  // ops whose outputs are compared
  // A batch norm that the other graph has folded into its layer: that layer's output is the norm's.
  bool is_folded_norm = false;
};

constexpr uint64_t kAlignedCellsMax = 1ull << 24;  // ops of a times ops of b

// In order: the pairing of most likeness that keeps both graphs' orders (Needleman and Wunsch 1970, gaps free). Ops of
// one kind are alike, more so with one name. What has no counterpart is left out. too_large: kAlignedCellsMax.
Result<std::vector<LayerPair>> align_layers(const ModelGraph& a, const ModelGraph& b);

}  // namespace coterie
