// ExactCheckpoint: what a party of an exact regression keeps between two steps, to go on from there. Weights are the
// same whatever key and masks are drawn, so that a training that goes on draws new ones.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie::vertical {

struct ExactCheckpoint {
  uint32_t steps = 0;           // that are done
  Digest said;                  // a chain over the feature party's margins: the same at both parties
  std::vector<double> weights;  // of the party's columns; the label party's intercept last
  friend bool operator==(const ExactCheckpoint&, const ExactCheckpoint&) = default;
};

// Steps (4 bytes), the chain (32), weights; little-endian.
Bytes write_exact_checkpoint(const ExactCheckpoint& checkpoint);
// malformed.
Result<ExactCheckpoint> read_exact_checkpoint(ByteView bytes);

}  // namespace coterie::vertical
