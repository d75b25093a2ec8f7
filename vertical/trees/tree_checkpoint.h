// LabelTreeCheckpoint: what the label party keeps between two rounds of a training, to go on from there. A feature
// party keeps its model so far. Trees are the same whatever key and order are drawn, so that a training that goes on
// draws new ones: no number is encrypted twice under the same randomness.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/trees/tree_model.h"

namespace coterie::vertical {

struct LabelTreeCheckpoint {
  LabelTreeModel model;        // the trees so far; `shape` is the same at all parties
  std::vector<float> margins;  // row by row, a class after the other; empty before the first tree
  friend bool operator==(const LabelTreeCheckpoint&, const LabelTreeCheckpoint&) = default;
};

// The number of margins (4 bytes), the margins, then the model as write_tree_model() has it; little-endian. Secret, as
// labels are.
Bytes write_tree_checkpoint(const LabelTreeCheckpoint& checkpoint);
// data_loss or malformed.
Result<LabelTreeCheckpoint> read_tree_checkpoint(ByteView bytes);

// invalid_argument unless trees so far fit a training: whole rounds of it, but not all.
Status check_trees_so_far(const TreeSettings& settings, const TreeSettings& so_far, size_t trees);

}  // namespace coterie::vertical
