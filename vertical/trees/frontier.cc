#include "vertical/trees/frontier.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

namespace coterie::vertical {
namespace {

size_t count_of(ByteView bitmap) {
  size_t count = 0;
  for (const uint8_t byte : bitmap) count += static_cast<size_t>(std::popcount(byte));
  return count;
}

}  // namespace

bool is_bitmap_of(ByteView bitmap, size_t bits) {
  return bitmap.size() == bitmap_bytes(bits) && (bits % 8 == 0 || bitmap.back() >> (bits % 8) == 0);
}

Frontier::Frontier(uint32_t rows) : nodes_(1), computed_{0} {
  nodes_[0].rows.resize(rows);
  std::iota(nodes_[0].rows.begin(), nodes_[0].rows.end(), 0u);
}

void Frontier::split(const LevelSplits& splits, Tree& tree) {
  std::vector<FrontierNode> next;
  computed_.clear();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (splits[i].empty()) continue;
    const auto left_id = static_cast<uint32_t>(tree.size());
    TreeNode& node = tree[nodes_[i].id];
    node.left = left_id;
    if (node.kind == TreeNode::Kind::leaf) node.kind = TreeNode::Kind::peer_split;
    tree.resize(tree.size() + 2);
    FrontierNode left{left_id, {}};
    FrontierNode right{left_id + 1, {}};
    for (size_t k = 0; k < nodes_[i].rows.size(); ++k) {
      (bit_of(splits[i], k) ? left : right).rows.push_back(nodes_[i].rows[k]);
    }
    // Only the smaller child is summed: the other's sums are the parent's less these. That halves the work under
    // encryption at least.
    computed_.push_back(next.size() + (left.rows.size() <= right.rows.size() ? 0 : 1));
    next.push_back(std::move(left));
    next.push_back(std::move(right));
  }
  nodes_ = std::move(next);
}

void Frontier::compute_all() {
  computed_.resize(nodes_.size());
  std::iota(computed_.begin(), computed_.end(), size_t{0});
}

Bytes write_level(const LevelSplits& splits) {
  Bytes bytes;
  for (const Bitmap& split : splits) bytes.push_back(split.empty() ? 0 : 1);
  for (const Bitmap& split : splits) bytes.insert(bytes.end(), split.begin(), split.end());
  return bytes;
}

Result<LevelSplits> read_level(ByteView bytes, const Frontier& frontier) {
  const auto wrong = [](const std::string& what) { return Error(ErrorCode::malformed, "a tree's level " + what); };
  const size_t nodes = frontier.nodes().size();
  if (bytes.size() < nodes) return wrong("ends before its nodes");
  LevelSplits splits(nodes);
  ByteView rest = bytes.subspan(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    if (bytes[i] > 1) return wrong("has a node that is neither split nor leaf");
    if (bytes[i] == 0) continue;
    const size_t rows = frontier.nodes()[i].rows.size();
    if (rest.size() < bitmap_bytes(rows)) return wrong("ends before its bitmaps");
    const ByteView bitmap = rest.first(bitmap_bytes(rows));
    rest = rest.subspan(bitmap.size());
    const size_t left = count_of(bitmap);
    // An empty child would have no sums, and bits beyond the rows would be a second form of one split.
    if (!is_bitmap_of(bitmap, rows) || left == 0 || left == rows) {
      return wrong("splits node " + std::to_string(frontier.nodes()[i].id) + " of " + std::to_string(rows) +
                   " rows so that a child is empty, or beyond its rows");
    }
    splits[i].assign(bitmap.begin(), bitmap.end());
  }
  if (!rest.empty()) return wrong("has " + std::to_string(rest.size()) + " bytes more than its nodes");
  return splits;
}

Result<Frontier> frontier_behind(uint32_t rows, std::span<const Bytes> levels, const Tree& tree) {
  Frontier frontier(rows);
  Tree grown(1);
  for (const Bytes& level : levels) {
    COT_ASSIGN(const LevelSplits splits, read_level(level, frontier));
    frontier.split(splits, grown);
  }
  if (frontier.nodes().empty() || !std::ranges::equal(grown, tree, {}, &TreeNode::left, &TreeNode::left)) {
    return Error(ErrorCode::malformed, "a tree's " + std::to_string(levels.size()) + " levels are not those of its " +
                                           std::to_string(tree.size()) + " nodes, or leave nothing to split");
  }
  frontier.compute_all();
  return frontier;
}

}  // namespace coterie::vertical
