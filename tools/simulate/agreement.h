// What all ranks of a simulation come to together: they go on, or end with one error, which each of them has.
#pragma once

#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/simulate/ranks.h"

namespace coterie {

// All ranks go on, or none does, with the error of the lowest rank that has one: its sentence begins with "rank N", and
// is cut at 512 bytes. Errors: those of Ranks, too.
Status agree(Ranks& ranks, const Status& own);

// All ranks have the same digest, or all end with conflict: the sentence names the first rank whose digest is not rank
// 0's, and `what` it is of. Errors: those of Ranks, too.
Status compare(Ranks& ranks, const Digest& own, std::string_view what);

}  // namespace coterie
