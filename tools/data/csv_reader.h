// Comma-separated values (RFC 4180) as rows of texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

struct CsvRow {
  size_t line = 0;  // where it begins, counted from 1
  std::vector<std::string> fields;
};

// Lines end with LF or CRLF, the last one perhaps with nothing; blank lines and a byte order mark are skipped. Blanks
// around a field are not part of it. A field in double quotes may have commas, line ends, and quotes written twice.
// Errors, with the line: malformed (quotes that do not close, or have something behind them; a row with another number
// of fields than the first).
Result<std::vector<CsvRow>> parse_csv(std::string_view text);

}  // namespace coterie
