// Tables with a header row, and how their fields are named in errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model_io/field_text.h"
#include "tools/data/csv_reader.h"

namespace coterie {

class CsvHeader {
 public:
  // Errors: malformed (two columns of one name).
  static Result<CsvHeader> make(CsvRow row);

  const std::vector<std::string>& columns() const { return columns_; }
  // Its place. invalid_argument, with the names there are, if there is none of this name.
  Result<size_t> find(const std::string& column) const;
  // "line 4, column age: WHAT"; the line is the file's, the header being line 1.
  Error error(size_t line, size_t column, const std::string& what) const;

 private:
  explicit CsvHeader(std::vector<std::string> columns) : columns_(std::move(columns)) {}
  std::vector<std::string> columns_;
};

// What is said of a table without any row.
Error no_rows_below_header();

// A whole table in memory.
class CsvRows {
 public:
  // Errors: malformed (what parse_csv and CsvHeader say; no rows below the header).
  static Result<CsvRows> parse(std::string_view text);

  size_t size() const { return rows_.size(); }  // below the header
  const std::vector<std::string>& columns() const { return header_.columns(); }
  const std::string& field(size_t row, size_t column) const { return rows_[row].fields[column]; }

  // As CsvHeader has them.
  Result<size_t> find(const std::string& column) const { return header_.find(column); }
  Error error(size_t row, size_t column, const std::string& what) const {
    return header_.error(rows_[row].line, column, what);
  }

 private:
  CsvRows(CsvHeader header, std::vector<CsvRow> rows) : header_(std::move(header)), rows_(std::move(rows)) {}
  CsvHeader header_;
  std::vector<CsvRow> rows_;
};

// A field in quotes, as one may have commas.
std::string csv_quoted(std::string_view field);

}  // namespace coterie
