// Zstandard files (RFC 8878), by libzstd.
#pragma once

#include "tools/data/unpack.h"

namespace coterie {

// A frame looks back so far at most, and takes so much memory: what `zstd` itself unpacks without --long.
constexpr int kZstdWindowLogMax = 27;  // 128 MiB

// Whether a frame begins there, or one to be skipped, which programs with several threads write first.
bool is_zstd(ByteView file_begins);
Result<std::unique_ptr<Unpacker>> make_zstd_unpacker(uint64_t bytes_max);

}  // namespace coterie
