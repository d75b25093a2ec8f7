// The watch of a model's row as bytes: how many looked (a double), and for each hit the texts' lengths (a byte each),
// the texts and the share; numbers as the machine has them, as in delta_chain.h. With noise the first hit has no names,
// and in the place of its share the error.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "scheduler/job/watch_outcome.h"

namespace coterie {

Bytes encode_watch(const WatchOutcome& outcome);
// data_loss: these are not the bytes of an outcome.
Result<WatchOutcome> decode_watch(ByteView bytes);

}  // namespace coterie
