// Gzip files (RFC 1952), by zlib.
#pragma once

#include "tools/data/unpack.h"

namespace coterie {

bool is_gzip(ByteView file_begins);
Result<std::unique_ptr<Unpacker>> make_gzip_unpacker(uint64_t bytes_max);

}  // namespace coterie
