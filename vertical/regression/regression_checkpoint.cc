#include "vertical/regression/regression_checkpoint.h"

#include <string>

#include "vertical/stage/wire.h"

namespace coterie::vertical {
namespace {

constexpr size_t kHeaderBytes = 4 + 32 + 4 + 4;

}  // namespace
Status check_regression_checkpoint(const RegressionCheckpoint& checkpoint, const RegressionShape& shape,
                                   PartyIndex party) {
  if (checkpoint.steps == 0) return {};
  const uint32_t own = party == 0 ? shape.label_columns : shape.feature_columns;
  const bool fits = checkpoint.steps < RingPlan(shape).steps() && checkpoint.own_weights.size() == own &&
                    checkpoint.peer_weights.size() == shape.columns() - own;
  if (fits) return {};
  return Error(ErrorCode::invalid_argument, "regression: the checkpoint of step " + std::to_string(checkpoint.steps) +
                                                " is none of a training of " + std::to_string(RingPlan(shape).steps()) +
                                                " steps with so many columns");
}

Bytes write_regression_checkpoint(const RegressionCheckpoint& checkpoint) {
  WireWriter writer;
  // Once: what grows leaves shares behind in freed memory.
  writer.reserve(kHeaderBytes + (checkpoint.own_weights.size() + checkpoint.peer_weights.size()) * sizeof(Word));
  writer.u32(checkpoint.steps);
  writer.digest(checkpoint.opened);
  const auto both = {&checkpoint.own_weights, &checkpoint.peer_weights};
  for (const auto* words : both) writer.u32(static_cast<uint32_t>(words->size()));
  for (const auto* words : both) {
    for (const Word word : *words) writer.u64(word);
  }
  return writer.take();
}

Result<RegressionCheckpoint> read_regression_checkpoint(ByteView bytes) {
  const Error wrong(ErrorCode::malformed, "regression: these bytes are no checkpoint");
  WireReader reader(bytes);
  RegressionCheckpoint checkpoint{.steps = reader.u32()};
  checkpoint.opened = reader.digest();
  const uint64_t own = reader.u32(), peer = reader.u32();
  // The size is held against the counts before anything is reserved.
  if (own > kRegressionColumnsMax || peer > kRegressionColumnsMax ||
      reader.rest().size() != (own + peer) * sizeof(Word)) {
    return wrong;
  }
  for (size_t i = 0; i < own + peer; ++i) {
    (i < own ? checkpoint.own_weights : checkpoint.peer_weights).push_back(reader.u64());
  }
  if (!reader.ended()) return wrong;
  return checkpoint;
}

}  // namespace coterie::vertical
