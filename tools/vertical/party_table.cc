#include "tools/vertical/party_table.h"

#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "tools/data/csv_rows.h"
#include "vertical/psi/id_set.h"

namespace coterie {
namespace {

Result<PartyTable> take_table(const CsvRows& rows, const std::string& id_column, const std::string& label_column,
                              LabelValues label_values) {
  COT_ASSIGN(const size_t id, rows.find(id_column));
  std::optional<size_t> label;
  if (!label_column.empty()) {
    COT_ASSIGN(label, rows.find(label_column));
    if (*label == id) return Error(ErrorCode::invalid_argument, "column " + id_column + " is both id and label");
  }
  PartyTable table;
  std::unordered_map<std::string_view, size_t> seen;
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string& text = rows.field(row, id);
    if (text.empty() || text.size() > vertical::kIdBytesMax) {
      return rows.error(row, id, "must have 1 to " + std::to_string(vertical::kIdBytesMax) + " bytes");
    }
    if (const auto [first, is_new] = seen.emplace(text, row); !is_new) {
      return rows.error(row, id,
                        "this id was there before, in row " + std::to_string(first->second + 1) + " below the header");
    }
    table.ids.push_back(text);
  }
  for (size_t column = 0; column < rows.columns().size(); ++column) {
    if (column == id) continue;
    std::vector<float> values;
    values.reserve(rows.size());
    for (size_t row = 0; row < rows.size(); ++row) {
      const std::string& field = rows.field(row, column);
      const bool is_label = label == column;
      if (!is_label && is_missing(field)) {
        values.push_back(std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      const std::optional<double> number = number_in(field);
      if (!number || !std::isfinite(static_cast<float>(*number))) {
        return rows.error(row, column, "must be a finite number");
      }
      const bool is_binary = is_label && label_values == LabelValues::binary;
      if (is_binary && *number != 0 && *number != 1) return rows.error(row, column, "a label must be 0 or 1");
      values.push_back(static_cast<float>(*number));
    }
    if (label == column) {
      table.labels = std::move(values);
    } else {
      table.names.push_back(rows.columns()[column]);
      table.columns.push_back(std::move(values));
    }
  }
  return table;
}

}  // namespace

Result<PartyTable> parse_party_table(std::string_view text, const std::string& file, const std::string& id_column,
                                     const std::string& label_column, LabelValues values) {
  const Result<CsvRows> rows = CsvRows::parse(text);
  if (!rows) return rows.error().with_context(file);
  Result<PartyTable> table = take_table(*rows, id_column, label_column, values);
  if (!table) return table.error().with_context(file);
  return table;
}

std::vector<std::vector<float>> rows_of(const std::vector<std::vector<float>>& columns,
                                        const std::vector<uint32_t>& rows) {
  std::vector<std::vector<float>> chosen;
  chosen.reserve(columns.size());
  for (const std::vector<float>& column : columns) {
    std::vector<float>& values = chosen.emplace_back();
    values.reserve(rows.size());
    for (const uint32_t row : rows) values.push_back(column[row]);
  }
  return chosen;
}

}  // namespace coterie
