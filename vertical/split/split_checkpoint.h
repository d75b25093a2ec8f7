// SplitCheckpoint: what a party keeps of a split network's training, to go on from there: its own part's parameters and
// what its optimizer keeps. No batch is in flight at a checkpoint.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie::vertical {

struct SplitCheckpoint {
  uint32_t steps = 0;          // done; 0: the begin
  Digest said;                 // over all that both said so far: the same at both parties
  std::vector<float> state;    // PartTrainer::state()
  std::vector<double> losses;  // the label party's, of the epochs so far, the last one unfinished: sums over its steps
  friend bool operator==(const SplitCheckpoint&, const SplitCheckpoint&) = default;
};

constexpr uint64_t kSplitStateMax = uint64_t{1} << 26;  // values

// Steps (4 bytes), `said`, the numbers of values and of losses (8 bytes each), both; little-endian.
Bytes write_split_checkpoint(const SplitCheckpoint& checkpoint);
Result<SplitCheckpoint> read_split_checkpoint(ByteView bytes);  // `malformed`

}  // namespace coterie::vertical
