// CsvRows: a table with a header row, and how its fields are named in errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/data/csv_reader.h"

namespace coterie {

class CsvRows {
 public:
  // Errors: malformed (what parse_csv says; no rows below the header; two columns of one name).
  static Result<CsvRows> parse(std::string_view text);

  size_t size() const { return file_.size() - 1; }  // rows below the header
  const std::vector<std::string>& columns() const { return file_[0].fields; }
  const std::string& field(size_t row, size_t column) const { return file_[row + 1].fields[column]; }

  // Its place. invalid_argument, with the names there are, if there is none of this name.
  Result<size_t> find(const std::string& column) const;
  // "line 4, column age: WHAT"; the line is the file's, the header being line 1.
  Error error(size_t row, size_t column, const std::string& what) const;

 private:
  explicit CsvRows(std::vector<CsvRow> file) : file_(std::move(file)) {}
  std::vector<CsvRow> file_;
};

// A finite number and nothing else: 3, -0.5, 1e6.
std::optional<double> number_in(std::string_view field);

// Whether a field says that there is no value: nothing, or ?, NA, N/A, NaN, null, None in any case.
bool is_missing(std::string_view field);

// The order of categories and classes: numbers by size, then texts by bytes.
bool comes_before(const std::string& a, const std::string& b);

// A field in quotes, as one may have commas.
std::string csv_quoted(const std::string& field);

}  // namespace coterie
