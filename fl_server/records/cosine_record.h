// The cosines of a round's updates with its step, in a model's row, as bytes: the counts of all buckets, then of the
// updates that have no cosine, each a uint64 as the machine has it, as in delta_chain.h.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/cosine_histogram.h"

namespace coterie {

Bytes encode_cosines(const CosineHistogram& cosines);
// data_loss: these are not the bytes of a histogram, or it has no update.
Result<CosineHistogram> decode_cosines(ByteView bytes);

}  // namespace coterie
