#include "vertical/trees/tree_checkpoint.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "vertical/stage/wire.h"
#include "vertical/trees/grown_margins.h"
#include "vertical/trees/tree_messages.h"

namespace coterie::vertical {
namespace {

// The first version had all trees and margins in each checkpoint, and began with a number.
constexpr std::array<uint8_t, 4> kMagic{'C', 'T', 'K', '2'};

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

template <typename Checkpoint>
Bytes write(const Checkpoint& checkpoint) {
  const auto& [settings, columns, shape, trees] = checkpoint.model;
  const size_t finished = finished_trees(trees.size(), checkpoint.levels);
  WireWriter writer;
  writer.raw(kMagic);
  writer.u32(static_cast<uint32_t>(finished));
  write_levels(writer, checkpoint.levels);
  auto unfinished = decltype(checkpoint.model){settings, columns, shape, {}};
  unfinished.trees.assign(trees.begin() + static_cast<ptrdiff_t>(finished), trees.end());
  writer.raw(write_tree_model(unfinished));
  return writer.take();
}

Result<GrownTree> read_grown_tree(ByteView bytes, const TreeSettings& settings, uint32_t columns) {
  WireReader reader(bytes);
  GrownTree grown{.number = reader.u32()};
  COT_ASSIGN(grown.levels, read_levels(reader));
  COT_ASSIGN(grown.tree, read_tree(reader, settings, columns, grown.number));
  if (!reader.ended()) return no_checkpoint();
  return grown;
}

// `add` hears of each tree that is finished, with the checkpoint so far.
template <typename Checkpoint, typename ReadModel, typename Add>
Result<Checkpoint> read(ByteView bytes, std::span<const Bytes> grown, ReadModel read_model, Add add) {
  if (bytes.size() < kMagic.size()) return no_checkpoint();
  if (!std::ranges::equal(bytes.first(kMagic.size()), kMagic)) {
    return Error(ErrorCode::unsupported_version,
                 "trees: the checkpoint is of another version of this program; end the job with that one, or submit "
                 "another");
  }
  WireReader reader(bytes.subspan(kMagic.size()));
  const uint32_t finished = reader.u32();
  Checkpoint checkpoint;
  COT_ASSIGN(checkpoint.levels, read_levels(reader));
  COT_ASSIGN(checkpoint.model, read_model(reader.rest(), TreesOf::training_so_far));
  auto& model = checkpoint.model;
  if (model.trees.size() != (checkpoint.levels.empty() ? 0u : 1u)) return no_checkpoint();
  if (finished > model.settings.trees() || finished > grown.size()) {
    return Error(ErrorCode::data_loss, "trees: a checkpoint behind " + std::to_string(finished) + " trees, and " +
                                           std::to_string(grown.size()) + " are kept");
  }
  std::vector<Tree> trees;
  for (uint32_t number = 0; number < finished; ++number) {
    COT_ASSIGN(GrownTree one, read_grown_tree(grown[number], model.settings, model.columns));
    if (one.number != number) return no_checkpoint();
    COT_TRY(add(one, model.settings));
    trees.push_back(std::move(one.tree));
  }
  trees.insert(trees.end(), model.trees.begin(), model.trees.end());
  model.trees = std::move(trees);
  return checkpoint;
}

}  // namespace

uint32_t levels_done(const LabelTreeCheckpoint& checkpoint) { return levels_of(checkpoint); }
uint32_t levels_done(const FeatureTreeCheckpoint& checkpoint) { return levels_of(checkpoint); }
Digest state_of(const LabelTreeCheckpoint& checkpoint) { return state(checkpoint); }
Digest state_of(const FeatureTreeCheckpoint& checkpoint) { return state(checkpoint); }

Bytes write_tree_checkpoint(const LabelTreeCheckpoint& checkpoint) { return write(checkpoint); }
Bytes write_tree_checkpoint(const FeatureTreeCheckpoint& checkpoint) { return write(checkpoint); }

Bytes write_grown_tree(const GrownTree& grown) {
  WireWriter writer;
  writer.u32(grown.number);
  write_levels(writer, grown.levels);
  write_tree(writer, grown.tree);
  return writer.take();
}

Result<LabelTreeCheckpoint> read_label_tree_checkpoint(ByteView bytes, std::span<const Bytes> grown, size_t rows) {
  std::optional<GrownMargins> sums;
  const auto add = [&](const GrownTree& one, const TreeSettings& settings) {
    if (!sums) sums.emplace(settings, rows);
    return sums->add_finished(one.tree, one.levels);
  };
  const auto read_model = [](ByteView model, TreesOf of) { return read_label_tree_model(model, of); };
  COT_ASSIGN(LabelTreeCheckpoint checkpoint, read<LabelTreeCheckpoint>(bytes, grown, read_model, add));
  if (!sums) sums.emplace(checkpoint.model.settings, rows);
  if (!checkpoint.levels.empty()) COT_TRY(sums->add_unfinished(checkpoint.model.trees.back(), checkpoint.levels));
  checkpoint.margins = sums->margins();
  checkpoint.round_margins = sums->round_margins();
  return checkpoint;
}

Result<FeatureTreeCheckpoint> read_feature_tree_checkpoint(ByteView bytes, std::span<const Bytes> grown) {
  const auto add = [](const GrownTree&, const TreeSettings&) { return Status(); };
  const auto read_model = [](ByteView model, TreesOf of) { return read_feature_tree_model(model, of); };
  return read<FeatureTreeCheckpoint>(bytes, grown, read_model, add);
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
