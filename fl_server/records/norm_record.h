// How long a round's updates were, in a model's row, as bytes: the first bucket that has any (a byte), then counts from
// it up to the last that has, each a uint64 as the machine has it, as in delta_chain.h.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/norm_histogram.h"

namespace coterie {

// Precondition: there are updates.
Bytes encode_norms(const NormHistogram& norms);
// data_loss: these are not the bytes of a histogram, or it has no update.
Result<NormHistogram> decode_norms(ByteView bytes);

}  // namespace coterie
