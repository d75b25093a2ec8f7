// LayerBlocks: the ops of a model in blocks that a person can take in at once. Pure.
//
// A block is a run of consecutive ops. A model's ops stand in an order in which every input is ready, so edges between
// blocks lead forward, too: what is drawn of blocks has no circle, whichever of them are open.
//
//   by name     consecutive ops with the same next part of their names ("layer1.0.conv1", "/layer1/layer1.0/conv1")
//   by repeat   where more than kPlainItemsMax ops or blocks stand side by side: a sequence of kinds that comes again
//               right behind itself
//   by number   what is then still more than kBlockItemsMax, in equal pieces
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proto/messages/model.h"

namespace coterie {

inline constexpr size_t kPlainItemsMax = 12;   // side by side without a look for repeats
inline constexpr size_t kBlockItemsMax = 48;   // ops and blocks directly in a block, or in the model
inline constexpr size_t kRepeatItemsMax = 64;  // of a sequence that comes again
inline constexpr uint32_t kNoBlock = ~uint32_t{0};

struct LayerBlock {
  std::string name;
  uint32_t first = 0, count = 0;  // ops
  uint32_t parent = kNoBlock;     // index of a block before this one
  friend bool operator==(const LayerBlock&, const LayerBlock&) = default;
};

// In the order of their first ops, a block before those in it.
std::vector<LayerBlock> layer_blocks(std::span<const OpInfo> ops);

}  // namespace coterie
