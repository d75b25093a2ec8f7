// Numbers in the queries that the console's page asks a folder of runs with.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace coterie {

// Records of a page, as those of the admin plane.
inline constexpr uint64_t kRunPageDefault = 100;
inline constexpr uint64_t kRunPageMax = 1000;

// The number that `text` is, under `key`; invalid_argument: it is none in [min, max].
Result<uint64_t> run_query_number(const std::string& key, const std::string& text, uint64_t min, uint64_t max);

}  // namespace coterie
