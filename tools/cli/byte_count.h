// Amounts of memory as people write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace coterie {

// "64M", "1.5G", "512 KiB", "4096": K, M and G are powers of 1,024, a B or iB behind them changes nothing.
// invalid_argument unless it is at least one byte and below 2^50.
Result<uint64_t> parse_byte_count(std::string_view text);

}  // namespace coterie
