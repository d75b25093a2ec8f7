// The nodes of a tree that may be split next, and who is in them: what all parties know alike.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/trees/tree_model.h"

namespace coterie::vertical {

struct FrontierNode {
  uint32_t id = 0;
  std::vector<uint32_t> rows;  // ascending
};

// Bit i is bit i % 8 of byte i / 8; unused bits are zero.
using Bitmap = Bytes;
constexpr size_t bitmap_bytes(size_t bits) { return (bits + 7) / 8; }
inline bool bit_of(ByteView bitmap, size_t i) { return ((bitmap[i / 8] >> (i % 8)) & 1) != 0; }
inline void set_bit(std::span<uint8_t> bitmap, size_t i) {
  bitmap[i / 8] = static_cast<uint8_t>(bitmap[i / 8] | (1u << (i % 8)));
}
// Whether `bitmap` has just the bytes that `bits` need, and nothing behind them.
bool is_bitmap_of(ByteView bitmap, size_t bits);

// What becomes of each node of a frontier: which of its rows go left, or nothing if it is a leaf.
using LevelSplits = std::vector<Bitmap>;

class Frontier {
 public:
  // The root with `rows` rows.
  explicit Frontier(uint32_t rows);

  const std::vector<FrontierNode>& nodes() const { return nodes_; }
  // Positions in nodes() of those whose sums are computed: the root, and the smaller one of each two children (the left
  // one of equals). What is left of them, the label party subtracts.
  const std::vector<size_t>& computed() const { return computed_; }

  // Whether those are all: of the root, and where nobody has the sums of the parents any more.
  bool computes_all() const { return computed_.size() == nodes_.size(); }
  void compute_all();

  // Splits as `splits` says, one entry a node, empty for a leaf. Numbers the children in `tree`, where the split nodes
  // get `left` and a kind other than leaf has been set by the caller or becomes peer_split.
  void split(const LevelSplits& splits, Tree& tree);

 private:
  std::vector<FrontierNode> nodes_;
  std::vector<size_t> computed_;
};

// A level as bytes, the same for all parties: a byte a node (1 is split), then the bitmaps of the split ones.
Bytes write_level(const LevelSplits& splits);
// malformed if it does not fit the frontier, or leaves a child empty.
Result<LevelSplits> read_level(ByteView bytes, const Frontier& frontier);

// The frontier of an unfinished tree behind its levels, as bytes, where the sums of all nodes are computed. malformed
// if the levels are not those of `tree`, or leave nothing to split.
Result<Frontier> frontier_behind(uint32_t rows, std::span<const Bytes> levels, const Tree& tree);

}  // namespace coterie::vertical
