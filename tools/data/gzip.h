// Gzip files (RFC 1952), unpacked in memory.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

bool is_gzip(ByteView bytes);

// What was packed into `packed`, all members of it. Errors: malformed (not gzip, truncated, checksum), too_large (more
// than `bytes_max`, found out before that much is allocated).
Result<Bytes> gunzip(ByteView packed, uint64_t bytes_max);

// The bytes themselves if they are not gzip.
Result<Bytes> gunzip_if_packed(Bytes bytes, uint64_t bytes_max);

}  // namespace coterie
