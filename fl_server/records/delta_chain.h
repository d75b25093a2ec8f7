// The deltas of a model's row as bytes: of each the base's digest, its own and its size (8 bytes, as the
// machine has them: proto/codec/frame.cc refuses to be built for one that is not little-endian).
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/download_rules.h"

namespace coterie {

Bytes encode_delta_chain(const std::vector<DeltaFile>& deltas);
// data_loss: these are not the bytes of at most kDeltaChainMax deltas.
Result<std::vector<DeltaFile>> decode_delta_chain(ByteView bytes);

}  // namespace coterie
