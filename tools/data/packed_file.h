// Files that may be packed (unpack.h), read piece by piece: of a packed one only a piece is in memory beside what was
// in it.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/data/source_log.h"

namespace coterie {

// The file's bytes, unpacked. `bytes_max` is of the file and of what it unpacks to. Errors name the file: what the
// system says, too_large, and unpack.h's; unavailable (it was replaced meanwhile). The watchers' `stages` hears of
// DataStage::read and unpack, `sources` of the file.
Result<Bytes> read_unpacked(const std::string& path, uint64_t bytes_max, const LoadWatchers& watchers = {});

}  // namespace coterie
