#include "vertical/split/split_checkpoint.h"

#include <cmath>

#include "vertical/split/split_settings.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {

Bytes write_split_checkpoint(const SplitCheckpoint& checkpoint) {
  WireWriter writer;
  writer.reserve(4 + 32 + 16 + checkpoint.state.size() * sizeof(float) + checkpoint.losses.size() * sizeof(double));
  writer.u32(checkpoint.steps);
  writer.digest(checkpoint.said);
  writer.u64(checkpoint.state.size());
  writer.u64(checkpoint.losses.size());
  for (const float value : checkpoint.state) writer.f32(value);
  for (const double loss : checkpoint.losses) writer.f64(loss);
  return writer.take();
}

Result<SplitCheckpoint> read_split_checkpoint(ByteView bytes) {
  const Error wrong(ErrorCode::malformed, "split: these bytes are no checkpoint");
  WireReader reader(bytes);
  SplitCheckpoint checkpoint{.steps = reader.u32(), .said = reader.digest(), .state = {}, .losses = {}};
  const uint64_t values = reader.u64(), losses = reader.u64();
  if (!reader.ok() || values > kSplitStateMax || losses > kSplitEpochsMax ||
      reader.rest().size() != values * sizeof(float) + losses * sizeof(double)) {
    return wrong;
  }
  for (uint64_t i = 0; i < values; ++i) checkpoint.state.push_back(reader.f32());
  for (uint64_t i = 0; i < losses; ++i) {
    checkpoint.losses.push_back(reader.f64());
    if (!std::isfinite(checkpoint.losses.back())) return wrong;
  }
  return checkpoint;
}

}  // namespace coterie::vertical
