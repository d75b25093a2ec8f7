#include "vertical/trees/grown_margins.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "vertical/trees/frontier.h"
#include "vertical/trees/gradients.h"

namespace coterie::vertical {

GrownMargins::GrownMargins(const TreeSettings& settings, size_t rows)
    : rows_(static_cast<uint32_t>(rows)),
      classes_(settings.classes),
      margins_(rows * settings.classes, base_margin(settings.objective)),
      round_margins_(margins_) {}

Status GrownMargins::add_finished(const Tree& tree, std::span<const Bytes> levels) {
  COT_TRY(add(tree, levels, true));
  if (++trees_ % classes_ == 0) round_margins_ = margins_;
  return {};
}

Status GrownMargins::add_unfinished(const Tree& tree, std::span<const Bytes> levels) {
  return add(tree, levels, false);
}

Status GrownMargins::add(const Tree& tree, std::span<const Bytes> levels, bool is_finished) {
  const Error differs(ErrorCode::malformed, "trees: the levels of tree " + std::to_string(trees_) +
                                                " are not those of its " + std::to_string(tree.size()) + " nodes");
  bool are_numbers = true;
  const auto make_leaf = [&](const FrontierNode& node) {
    for (const uint32_t row : node.rows) {
      float& margin = margins_[size_t{row} * classes_ + trees_ % classes_];
      margin += tree[node.id].weight;
      are_numbers = are_numbers && std::isfinite(margin);
    }
  };
  Frontier frontier(rows_);
  Tree grown(1);
  for (const Bytes& level : levels) {
    COT_ASSIGN(const LevelSplits splits, read_level(level, frontier));
    for (size_t i = 0; i < splits.size(); ++i) {
      if (splits[i].empty()) make_leaf(frontier.nodes()[i]);
    }
    frontier.split(splits, grown);
    if (grown.size() > tree.size()) return differs;
  }
  if (!std::ranges::equal(grown, tree, {}, &TreeNode::left, &TreeNode::left)) return differs;
  if (is_finished) std::ranges::for_each(frontier.nodes(), make_leaf);
  if (are_numbers) return {};
  return Error(ErrorCode::malformed, "trees: the leaves up to tree " + std::to_string(trees_) + " add up to no number");
}

}  // namespace coterie::vertical
