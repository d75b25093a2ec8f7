#include "tools/data/csv_rows.h"

#include <algorithm>
#include <set>

namespace coterie {

Result<CsvHeader> CsvHeader::make(CsvRow row) {
  std::set<std::string> names;
  for (const std::string& name : row.fields) {
    if (!names.insert(name).second) {
      return Error(ErrorCode::malformed,
                   "line " + std::to_string(row.line) + ": the header names column " + name + " twice");
    }
  }
  return CsvHeader(std::move(row.fields));
}

Result<size_t> CsvHeader::find(const std::string& column) const {
  const auto found = std::ranges::find(columns_, column);
  if (found != columns_.end()) return static_cast<size_t>(found - columns_.begin());
  std::string all;
  for (const std::string& name : columns_) all += (all.empty() ? "" : ", ") + name;
  return Error(ErrorCode::invalid_argument, "has no column " + column + "; it has " + all);
}

Error CsvHeader::error(size_t line, size_t column, const std::string& what) const {
  return Error(ErrorCode::malformed, "line " + std::to_string(line) + ", column " + columns_[column] + ": " + what);
}

Error no_rows_below_header() { return Error(ErrorCode::malformed, "has no rows below its header"); }

Result<CsvRows> CsvRows::parse(std::string_view text) {
  COT_ASSIGN(std::vector<CsvRow> rows, parse_csv(text));
  if (rows.size() < 2) return no_rows_below_header();
  COT_ASSIGN(CsvHeader header, CsvHeader::make(std::move(rows[0])));
  rows.erase(rows.begin());
  return CsvRows(std::move(header), std::move(rows));
}

std::string csv_quoted(std::string_view field) {
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace coterie
