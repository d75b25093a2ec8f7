// Query parameters of the admin plane: numbers in range, or a problem that names the parameter.
#pragma once

#include <map>
#include <string>

#include "scheduler/job/job_spec.h"

namespace coterie {

// The number under `key`, or `fallback` if it is absent or (with a problem) not a number in [min, max].
uint64_t query_number(const std::map<std::string, std::string>& query, const std::string& key, uint64_t fallback,
                      uint64_t min, uint64_t max, Problems& problems);

}  // namespace coterie
