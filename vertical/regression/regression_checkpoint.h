// RegressionCheckpoint: what a party keeps of a training, to go on from there. Both parties' checkpoints of the same
// step belong together: trained on from them, and with the same dealt words, they end with the same weights to the bit.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/regression/ring_plan.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

// A party takes one after each so many steps, but for the last.
constexpr uint32_t kCheckpointSteps = 16;

struct RegressionCheckpoint {
  uint32_t steps = 0;                           // done; 0: the begin
  std::vector<Word> own_weights, peer_weights;  // the party's shares, at scale kWeightBits; empty at the begin
  Digest opened;                                // over all changes that were opened: the same at both parties
  friend bool operator==(const RegressionCheckpoint&, const RegressionCheckpoint&) = default;
};

// invalid_argument unless it may be party `party`'s of a training of this shape.
Status check_regression_checkpoint(const RegressionCheckpoint& checkpoint, const RegressionShape& shape,
                                   PartyIndex party);

// Steps, then the digest, then both counts (4 bytes each) and the words; little-endian. Secret, like the shares.
Bytes write_regression_checkpoint(const RegressionCheckpoint& checkpoint);
// `malformed`.
Result<RegressionCheckpoint> read_regression_checkpoint(ByteView bytes);

}  // namespace coterie::vertical
