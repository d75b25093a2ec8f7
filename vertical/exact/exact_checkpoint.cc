#include "vertical/exact/exact_checkpoint.h"

#include <cmath>

#include "vertical/regression/ring_plan.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {

Bytes write_exact_checkpoint(const ExactCheckpoint& checkpoint) {
  WireWriter writer;
  writer.u32(checkpoint.steps);
  writer.digest(checkpoint.said);
  for (const double weight : checkpoint.weights) writer.f64(weight);
  return writer.take();
}

Result<ExactCheckpoint> read_exact_checkpoint(ByteView bytes) {
  const Error wrong(ErrorCode::malformed, "regression: these bytes are no checkpoint of an exact training");
  WireReader reader(bytes);
  ExactCheckpoint checkpoint{.steps = reader.u32(), .said = reader.digest(), .weights = {}};
  const size_t left = reader.rest().size();
  if (!reader.ok() || left % sizeof(double) != 0 || left / sizeof(double) > kRegressionColumnsMax) return wrong;
  for (size_t i = 0; i < left / sizeof(double); ++i) {
    checkpoint.weights.push_back(reader.f64());
    if (!std::isfinite(checkpoint.weights.back())) return wrong;
  }
  return checkpoint;
}

}  // namespace coterie::vertical
