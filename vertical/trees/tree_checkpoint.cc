#include "vertical/trees/tree_checkpoint.h"

#include <cmath>
#include <string>

#include "vertical/stage/wire.h"
#include "vertical/trees/tree_messages.h"

namespace coterie::vertical {
namespace {

Error no_checkpoint() { return Error(ErrorCode::malformed, "trees: these bytes are no checkpoint"); }

size_t finished_trees(size_t trees, const TreeLevels& levels) { return trees - (levels.empty() ? 0 : 1); }

template <typename Checkpoint>
uint32_t levels_of(const Checkpoint& checkpoint) {
  const auto trees = static_cast<uint32_t>(finished_trees(checkpoint.model.trees.size(), checkpoint.levels));
  return trees * checkpoint.model.settings.depth + static_cast<uint32_t>(checkpoint.levels.size());
}

template <typename Checkpoint>
Digest state(const Checkpoint& checkpoint) {
  if (checkpoint.levels.empty()) return checkpoint.model.shape;
  const auto tree = static_cast<uint32_t>(checkpoint.model.trees.size() - 1);
  return shape_of(checkpoint.model.shape, tree, checkpoint.levels).finish();
}

void write_levels(WireWriter& writer, const TreeLevels& levels) {
  writer.u32(static_cast<uint32_t>(levels.size()));
  for (const Bytes& level : levels) {
    writer.u32(static_cast<uint32_t>(level.size()));
    writer.raw(level);
  }
}

Result<TreeLevels> read_levels(WireReader& reader) {
  TreeLevels levels;
  const uint32_t count = reader.u32();
  if (!reader.ok() || count > kTreeDepthMax) return no_checkpoint();
  for (uint32_t i = 0; i < count; ++i) {
    const ByteView level = reader.raw(reader.u32());
    if (!reader.ok()) return no_checkpoint();
    levels.emplace_back(level.begin(), level.end());
  }
  return levels;
}

}  // namespace

uint32_t levels_done(const LabelTreeCheckpoint& checkpoint) { return levels_of(checkpoint); }
uint32_t levels_done(const FeatureTreeCheckpoint& checkpoint) { return levels_of(checkpoint); }
Digest state_of(const LabelTreeCheckpoint& checkpoint) { return state(checkpoint); }
Digest state_of(const FeatureTreeCheckpoint& checkpoint) { return state(checkpoint); }

Bytes write_tree_checkpoint(const LabelTreeCheckpoint& checkpoint) {
  WireWriter writer;
  writer.u32(static_cast<uint32_t>(checkpoint.margins.size()));
  for (const auto* margins : {&checkpoint.margins, &checkpoint.round_margins}) {
    for (const float margin : *margins) writer.f32(margin);
  }
  write_levels(writer, checkpoint.levels);
  writer.raw(write_tree_model(checkpoint.model));
  return writer.take();
}

Bytes write_tree_checkpoint(const FeatureTreeCheckpoint& checkpoint) {
  WireWriter writer;
  write_levels(writer, checkpoint.levels);
  writer.raw(write_tree_model(checkpoint.model));
  return writer.take();
}

Result<LabelTreeCheckpoint> read_label_tree_checkpoint(ByteView bytes) {
  WireReader reader(bytes);
  const uint32_t count = reader.u32();
  if (!reader.ok() || count > reader.rest().size() / 8) return no_checkpoint();
  LabelTreeCheckpoint checkpoint;
  for (auto* margins : {&checkpoint.margins, &checkpoint.round_margins}) {
    for (uint32_t i = 0; i < count; ++i) {
      margins->push_back(reader.f32());
      if (!std::isfinite(margins->back())) return no_checkpoint();
    }
  }
  COT_ASSIGN(checkpoint.levels, read_levels(reader));
  COT_ASSIGN(checkpoint.model, read_label_tree_model(reader.rest(), TreesOf::training_so_far));
  return checkpoint;
}

Result<FeatureTreeCheckpoint> read_feature_tree_checkpoint(ByteView bytes) {
  WireReader reader(bytes);
  FeatureTreeCheckpoint checkpoint;
  COT_ASSIGN(checkpoint.levels, read_levels(reader));
  COT_ASSIGN(checkpoint.model, read_feature_tree_model(reader.rest(), TreesOf::training_so_far));
  return checkpoint;
}

Status check_trees_so_far(const TreeSettings& settings, const TreeSettings& so_far, size_t trees,
                          const TreeLevels& levels) {
  if (trees == 0 && levels.empty()) return {};
  const bool is_some_of_it = trees > 0 && finished_trees(trees, levels) < settings.trees();
  if (is_some_of_it && so_far == settings && levels.size() < settings.depth) return {};
  return Error(ErrorCode::invalid_argument,
               "trees: a checkpoint of " + std::to_string(trees) + " trees and " + std::to_string(levels.size()) +
                   " levels of the last one is of no point of this training of " + std::to_string(settings.trees()) +
                   " trees of depth " + std::to_string(settings.depth));
}

}  // namespace coterie::vertical
