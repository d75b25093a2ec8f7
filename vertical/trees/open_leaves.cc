#include "vertical/trees/open_leaves.h"

#include <cmath>
#include <string>

#include "vertical/trees/frontier.h"

namespace coterie::vertical {

size_t leaves_of(const std::vector<Tree>& trees, size_t first_tree) {
  size_t leaves = 0;
  for (size_t t = first_tree; t < trees.size(); ++t) leaves += trees[t].size() / 2 + 1;
  return leaves;
}

void open_leaves(const std::vector<Tree>& trees, size_t first_tree, const RawColumns& columns, size_t row,
                 std::span<uint8_t> bits) {
  size_t leaf = 0;
  std::vector<bool> open;
  for (size_t t = first_tree; t < trees.size(); ++t) {
    const Tree& tree = trees[t];
    open.assign(tree.size(), false);
    open[0] = true;
    // Children come after their parents.
    for (size_t id = 0; id < tree.size(); ++id) {
      const TreeNode& node = tree[id];
      if (node.kind == TreeNode::Kind::leaf) {
        if (open[id]) set_bit(bits, leaf);
        ++leaf;
        continue;
      }
      bool left = true;
      bool right = true;
      if (node.kind == TreeNode::Kind::own_split) {
        const float value = columns[node.column][row];
        left = std::isnan(value) ? node.missing_left : value < node.threshold;
        right = !left;
      }
      open[node.left] = open[id] && left;
      open[node.left + 1] = open[id] && right;
    }
  }
}

Status check_columns(const RawColumns& columns, uint32_t count, uint32_t rows) {
  bool fits = columns.size() == count && rows > 0 && rows <= kTreeRowsMax;
  for (const std::vector<float>& column : columns) fits = fits && column.size() == rows;
  if (fits) return {};
  return Error(ErrorCode::invalid_argument, "trees: " + std::to_string(columns.size()) + " columns to predict from, " +
                                                "expected " + std::to_string(count) + " of " + std::to_string(rows) +
                                                " rows each, and 1 to " + std::to_string(kTreeRowsMax) + " rows");
}

}  // namespace coterie::vertical
