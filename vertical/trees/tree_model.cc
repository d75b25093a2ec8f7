#include "vertical/trees/tree_model.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "secure/crypto/digest.h"
#include "vertical/trees/settings_wire.h"

namespace coterie::vertical {
namespace {

constexpr uint32_t kTreeFileVersion = 1;
constexpr std::string_view kLabelMagic = "CTL1";
constexpr std::string_view kFeatureMagic = "CTF1";

template <typename Model>
Bytes write_part(const Model& model, std::string_view magic) {
  WireWriter writer;
  writer.raw(as_bytes(magic));
  writer.u32(kTreeFileVersion);
  write_settings(writer, model.settings);
  writer.u32(model.columns);
  writer.raw(model.shape.view());
  writer.u32(static_cast<uint32_t>(model.trees.size()));
  for (const Tree& tree : model.trees) write_tree(writer, tree);
  Bytes bytes = writer.take();
  const Digest digest = content_digest(bytes);
  bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.end());
  return bytes;
}

Error wrong(const std::string& what) { return Error(ErrorCode::malformed, "tree model: " + what); }

// Children come after their parents, each once: no walk goes in circles.
Status check_tree(const Tree& tree, uint32_t columns, uint32_t number) {
  uint32_t next = 1;
  for (uint32_t id = 0; id < tree.size(); ++id) {
    const TreeNode& node = tree[id];
    const std::string name = "tree " + std::to_string(number) + ", node " + std::to_string(id);
    if (!std::isfinite(node.weight) || std::isnan(node.threshold)) return wrong(name + " has a number that is none");
    if (node.kind == TreeNode::Kind::leaf) continue;
    if (node.left != next || node.left <= id || node.left + 1 >= tree.size()) {
      return wrong(name + " has its children at " + std::to_string(node.left) + ", expected " + std::to_string(next));
    }
    if (node.kind == TreeNode::Kind::own_split && node.column >= columns) {
      return wrong(name + " splits column " + std::to_string(node.column) + " of " + std::to_string(columns));
    }
    next += 2;
  }
  if (next != tree.size()) return wrong("tree " + std::to_string(number) + " has nodes that no split leads to");
  return {};
}

template <typename Model>
Result<Model> read_part(ByteView bytes, std::string_view magic, TreesOf of) {
  if (bytes.size() < magic.size() + sizeof(Digest::bytes) || as_text(bytes.first(magic.size())) != magic) {
    return wrong("expected a file that begins with " + std::string(magic));
  }
  const ByteView body = bytes.first(bytes.size() - sizeof(Digest::bytes));
  const ByteView digest = bytes.subspan(body.size());
  if (!std::ranges::equal(content_digest(body).bytes, digest)) {
    return Error(ErrorCode::data_loss, "tree model: the bytes are not those that were written; take another copy");
  }
  WireReader reader(body.subspan(magic.size()));
  if (const uint32_t version = reader.u32(); version != kTreeFileVersion) {
    return Error(ErrorCode::unsupported_version,
                 "tree model: version " + std::to_string(version) + ", expected " + std::to_string(kTreeFileVersion));
  }
  Model model;
  model.settings = read_settings(reader);
  COT_TRY(check_tree_settings(model.settings));
  model.columns = reader.u32();
  const ByteView shape = reader.raw(model.shape.bytes.size());
  std::ranges::copy(shape, model.shape.bytes.begin());
  const uint32_t trees = reader.u32();
  if (!reader.ok() || trees > model.settings.trees() || (trees < model.settings.trees() && of == TreesOf::model)) {
    return wrong("there are " + std::to_string(trees) + " trees, expected " + std::to_string(model.settings.trees()));
  }
  for (uint32_t number = 0; number < trees; ++number) {
    COT_ASSIGN(Tree tree, read_tree(reader, model.settings, model.columns, number));
    model.trees.push_back(std::move(tree));
  }
  if (!reader.ended()) return wrong("there is something behind its trees");
  return model;
}

}  // namespace

void write_tree(WireWriter& writer, const Tree& tree) {
  writer.u32(static_cast<uint32_t>(tree.size()));
  for (const TreeNode& node : tree) {
    writer.u8(static_cast<uint8_t>(node.kind));
    writer.u32(node.left);
    writer.u32(node.column);
    writer.f32(node.threshold);
    writer.u8(node.missing_left ? 1 : 0);
    writer.f32(node.weight);
  }
}

Result<Tree> read_tree(WireReader& reader, const TreeSettings& settings, uint32_t columns, uint32_t number) {
  const uint32_t nodes = reader.u32();
  // A binary tree of depth d has at most 2^(d + 1) - 1 nodes: nothing larger is reserved.
  if (nodes == 0 || nodes >= 2u << settings.depth) {
    return wrong("tree " + std::to_string(number) + " has " + std::to_string(nodes) + " nodes");
  }
  Tree tree(nodes);
  for (TreeNode& node : tree) {
    const uint8_t kind = reader.u8();
    if (kind > static_cast<uint8_t>(TreeNode::Kind::peer_split)) return wrong("a node is of no known kind");
    node.kind = static_cast<TreeNode::Kind>(kind);
    node.left = reader.u32();
    node.column = reader.u32();
    node.threshold = reader.f32();
    node.missing_left = reader.u8() != 0;
    node.weight = reader.f32();
  }
  if (!reader.ok()) return wrong("it ends in tree " + std::to_string(number));
  COT_TRY(check_tree(tree, columns, number));
  return tree;
}

Bytes write_tree_model(const LabelTreeModel& model) { return write_part(model, kLabelMagic); }
Bytes write_tree_model(const FeatureTreeModel& model) { return write_part(model, kFeatureMagic); }
Result<LabelTreeModel> read_label_tree_model(ByteView bytes, TreesOf of) {
  return read_part<LabelTreeModel>(bytes, kLabelMagic, of);
}
Result<FeatureTreeModel> read_feature_tree_model(ByteView bytes, TreesOf of) {
  return read_part<FeatureTreeModel>(bytes, kFeatureMagic, of);
}

}  // namespace coterie::vertical
