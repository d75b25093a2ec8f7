#include "vertical/trees/tree_checkpoint.h"

#include <cmath>
#include <string>

#include "vertical/stage/wire.h"

namespace coterie::vertical {

Bytes write_tree_checkpoint(const LabelTreeCheckpoint& checkpoint) {
  WireWriter writer;
  writer.u32(static_cast<uint32_t>(checkpoint.margins.size()));
  for (const float margin : checkpoint.margins) writer.f32(margin);
  writer.raw(write_tree_model(checkpoint.model));
  return writer.take();
}

Result<LabelTreeCheckpoint> read_tree_checkpoint(ByteView bytes) {
  const Error wrong(ErrorCode::malformed, "trees: these bytes are no checkpoint");
  WireReader reader(bytes);
  const uint32_t count = reader.u32();
  if (!reader.ok() || count > reader.rest().size() / 4) return wrong;
  LabelTreeCheckpoint checkpoint;
  for (uint32_t i = 0; i < count; ++i) {
    checkpoint.margins.push_back(reader.f32());
    if (!std::isfinite(checkpoint.margins.back())) return wrong;
  }
  COT_ASSIGN(checkpoint.model, read_label_tree_model(reader.rest(), TreesOf::training_so_far));
  return checkpoint;
}

Status check_trees_so_far(const TreeSettings& settings, const TreeSettings& so_far, size_t trees) {
  if (trees == 0 || (so_far == settings && trees < settings.trees() && trees % settings.classes == 0)) return {};
  return Error(ErrorCode::invalid_argument, "trees: a checkpoint of " + std::to_string(trees) +
                                                " trees is of no round of this training of " +
                                                std::to_string(settings.trees()));
}

}  // namespace coterie::vertical
