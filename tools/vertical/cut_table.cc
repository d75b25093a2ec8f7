#include "tools/vertical/cut_table.h"

#include "tools/data/csv_rows.h"

namespace coterie {
Result<std::vector<std::string>> cut_table(std::string_view text, uint32_t tables) {
  COT_ASSIGN(const CsvRows rows, CsvRows::parse(text));
  COT_ASSIGN(const size_t id, rows.find("id"));
  std::vector<size_t> columns;
  for (size_t column = 0; column < rows.columns().size(); ++column) {
    if (column != id) columns.push_back(column);
  }
  if (tables == 0 || columns.size() < tables) {
    return Error(ErrorCode::invalid_argument, "a table of " + std::to_string(columns.size()) +
                                                  " columns cannot be cut for " + std::to_string(tables) + " parties");
  }
  std::vector<std::string> cut(tables);
  for (uint32_t table = 0; table < tables; ++table) {
    const size_t first = columns.size() * table / tables, end = columns.size() * (table + 1) / tables;
    cut[table] = "id";
    for (size_t i = first; i < end; ++i) cut[table] += "," + csv_quoted(rows.columns()[columns[i]]);
    cut[table] += "\n";
    for (size_t row = 0; row < rows.size(); ++row) {
      cut[table] += csv_quoted(rows.field(row, id));
      for (size_t i = first; i < end; ++i) cut[table] += "," + csv_quoted(rows.field(row, columns[i]));
      cut[table] += "\n";
    }
  }
  return cut;
}

}  // namespace coterie
