// Standard input as a whole, for commands that take `-` in the place of a file.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie::os {

inline constexpr std::string_view kStandardInputPath = "-";
inline constexpr std::string_view kStandardInputName = "standard input";  // in errors

// All that comes until its end; waits for it. Errors: too_large as soon as there are more than `bytes_max`; cancelled
// by a signal that the process handles; those of reading.
Result<Bytes> read_standard_input(uint64_t bytes_max);

}  // namespace coterie::os
