// One column of a table, as it stands there.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace coterie {

// The fields of `column`, a row after the other, of a file with a header row (csv_rows.h), packed or not. Errors name
// the file: not_found, malformed, too_large, invalid_argument (no such column).
Result<std::vector<std::string>> read_column(const std::string& path, const std::string& column);

}  // namespace coterie
