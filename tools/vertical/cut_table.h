// A feature party's table cut into several parties' tables, so that a demo has more than two parties.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

// CSV texts that each have the column "id" and a share of the others, one behind the other and as equal as they can
// be. invalid_argument for fewer columns than `tables`, or without ids; CsvRows::parse()'s errors.
Result<std::vector<std::string>> cut_table(std::string_view text, uint32_t tables);

}  // namespace coterie
