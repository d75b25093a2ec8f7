// examples/digits/digits.csv.gz, byte for byte: made at build time by embed.cmake.
#pragma once

#include "base/bytes.h"

namespace coterie {

extern const ByteView kDigitsBytes;

}  // namespace coterie
