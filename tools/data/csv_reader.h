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

// Row by row. Lines end with LF or CRLF, the last one perhaps with nothing; blank lines and a byte order mark are
// skipped. Blanks around a field are not part of it. A field in double quotes may have commas, line ends, and quotes
// written twice.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text);

  // The next row, or false behind the last. What `row` holds is used again. Errors, with the line: malformed (quotes
  // that do not close, or have something behind them; a row with another number of fields than the first).
  Result<bool> next(CsvRow& row);

 private:
  Status read_field(std::string& value);  // and the comma or the line end behind it
  Status read_quoted(std::string& value);
  Status read_separator();
  void skip_blanks();
  Error error(const std::string& what) const;

  std::string_view text_;  // what is left
  size_t line_ = 1;
  size_t fields_ = 0;  // of the first row
  bool row_ended_ = false;
};

// All rows. Errors: those of CsvReader.
Result<std::vector<CsvRow>> parse_csv(std::string_view text);

}  // namespace coterie
