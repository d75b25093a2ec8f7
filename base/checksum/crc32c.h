// CRC-32C: the Castagnoli polynomial (RFC 3720, appendix B.4), reflected, begun and ended with all ones. It finds what
// a disk or a wire has damaged, and nothing that somebody means to hide.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace coterie {

// The checksum of `bytes` behind those whose checksum is `before`: pieces give what the whole gives.
uint32_t crc32c(ByteView bytes, uint32_t before = 0);

// The same by tables alone, as a CPU without the instruction computes it.
uint32_t crc32c_by_tables(ByteView bytes, uint32_t before = 0);

}  // namespace coterie
