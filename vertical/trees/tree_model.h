// A trained model's two parts. Neither party can predict alone: the label party has its own cuts, the tree's shape and
// the weights of leaves; a feature party its own cuts and the shape.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/stage/wire.h"
#include "vertical/trees/tree_settings.h"

namespace coterie::vertical {

// A node of a tree. Node 0 is the root; children are numbered as nodes are split, level by level.
struct TreeNode {
  enum class Kind : uint8_t { leaf = 0, own_split = 1, peer_split = 2 };
  Kind kind = Kind::leaf;
  uint32_t left = 0;    // of a split; right is left + 1
  uint32_t column = 0;  // of an own split: the party's column
  float threshold = 0;  // of an own split: left if value < threshold
  bool missing_left = false;
  float weight = 0;  // of a leaf, at the label party alone

  friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

using Tree = std::vector<TreeNode>;

struct LabelTreeModel {
  TreeSettings settings;
  uint32_t columns = 0;
  // What all parties know of the trees, digested a tree after the other: parts of one model have the same.
  Digest shape;
  std::vector<Tree> trees;  // round by round, a class after the other
  friend bool operator==(const LabelTreeModel&, const LabelTreeModel&) = default;
};

struct FeatureTreeModel {
  TreeSettings settings;
  uint32_t columns = 0;
  Digest shape;
  std::vector<Tree> trees;  // a tree of which this party knows nothing (label_party_first) is one leaf
  friend bool operator==(const FeatureTreeModel&, const FeatureTreeModel&) = default;
};

// The nodes of one tree, as write_tree_model() has them: their number (4 bytes), then each.
void write_tree(WireWriter& writer, const Tree& tree);
// malformed if they can be no tree of these settings at a party with so many columns; errors name its `number`.
Result<Tree> read_tree(WireReader& reader, const TreeSettings& settings, uint32_t columns, uint32_t number);

enum class TreesOf : uint8_t { model = 0, training_so_far = 1 };  // of the latter, at most those of the settings

// A part as bytes with their digest, and back; data_loss if a byte is not what was written, malformed if it cannot be a
// part of a model.
Bytes write_tree_model(const LabelTreeModel& model);
Bytes write_tree_model(const FeatureTreeModel& model);
Result<LabelTreeModel> read_label_tree_model(ByteView bytes, TreesOf of = TreesOf::model);
Result<FeatureTreeModel> read_feature_tree_model(ByteView bytes, TreesOf of = TreesOf::model);

}  // namespace coterie::vertical
