// What the parties of a training of trees keep between two levels of a tree, to go on from there. Trees are the same
// whatever key and order are drawn, so that a training that goes on draws new ones: no number is encrypted twice under
// the same randomness. The sums of nodes are not kept: a level that is done again is summed in all of its nodes.
//
// A level writes what it changed. A tree that is finished is written once, and margins are added up again from the
// leaves of all trees, in their order: the same bits (docs/adr/0169-a-level-writes-what-it-changed.md).
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/trees/tree_model.h"

namespace coterie::vertical {

// A tree's levels so far, the root's first, as all parties know them (frontier.h's write_level). Empty between trees.
using TreeLevels = std::vector<Bytes>;

// A tree that is finished, as a party keeps it.
struct GrownTree {
  uint32_t number = 0;
  Tree tree;
  TreeLevels levels;  // all of them at the label party, which adds up margins by them; none at a feature party
  friend bool operator==(const GrownTree&, const GrownTree&) = default;
};

struct LabelTreeCheckpoint {
  LabelTreeModel model;  // the trees so far: of the last one `levels`, and `shape` without it, if there are levels
  TreeLevels levels;
  std::vector<float> margins;        // row by row, a class after the other; empty before the first level
  std::vector<float> round_margins;  // those of the round's begin, which its gradients are made of
  friend bool operator==(const LabelTreeCheckpoint&, const LabelTreeCheckpoint&) = default;
};

struct FeatureTreeCheckpoint {
  FeatureTreeModel model;  // likewise
  TreeLevels levels;
  friend bool operator==(const FeatureTreeCheckpoint&, const FeatureTreeCheckpoint&) = default;
};

// How many levels are done; a tree that ended early counts as settings.depth of them.
uint32_t levels_done(const LabelTreeCheckpoint& checkpoint);
uint32_t levels_done(const FeatureTreeCheckpoint& checkpoint);

// The name of all that they have trained, the same at all parties.
Digest state_of(const LabelTreeCheckpoint& checkpoint);
Digest state_of(const FeatureTreeCheckpoint& checkpoint);

// The number of finished trees (4 bytes) behind "CTK2", the number of levels, each level with its size in front (4
// bytes), and a model as write_tree_model() has it, of the unfinished tree alone, if there is one; little-endian.
Bytes write_tree_checkpoint(const LabelTreeCheckpoint& checkpoint);
Bytes write_tree_checkpoint(const FeatureTreeCheckpoint& checkpoint);
// The tree's number (4 bytes), its levels likewise, and its nodes. Secret, as labels are.
Bytes write_grown_tree(const GrownTree& grown);

// `grown`: what write_grown_tree() gave of the trees from 0 on, of all that are finished at least. `rows`: of the
// training. data_loss or malformed; unsupported_version for a checkpoint of a version that wrote all trees in each.
Result<LabelTreeCheckpoint> read_label_tree_checkpoint(ByteView bytes, std::span<const Bytes> grown, size_t rows);
Result<FeatureTreeCheckpoint> read_feature_tree_checkpoint(ByteView bytes, std::span<const Bytes> grown);

// invalid_argument unless trees so far, the last of them with `levels`, fit a training: some of it, but not all.
Status check_trees_so_far(const TreeSettings& settings, const TreeSettings& so_far, size_t trees,
                          const TreeLevels& levels);

}  // namespace coterie::vertical
