// The tables of `coterie model profile`: what ops took, and what kinds of op did.
#pragma once

#include <string>
#include <vector>

#include "device_sdk/runtime/profiler.h"

namespace coterie {

// A line a kind, the longest first. A share is of all of these.
std::string kinds_table(const std::vector<OpTime>& ops);
// A line an op, in their order. Names are a stranger's: they are printed as text, and cut in the middle so that a line
// has 80 columns.
std::string ops_table(const std::vector<OpTime>& ops);

}  // namespace coterie
