#include "tools/cli/layers_table.h"

#include <algorithm>

#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr int kLineColumns = 80, kNameColumnsMin = 16;
constexpr size_t kGap = 2;
constexpr std::string_view kTitles[] = {"LAYER", "OP", "OUTPUT", "PARAMETERS"};

using Row = std::vector<std::string>;

// What the other columns leave of a line for the first.
int name_columns(const std::vector<Row>& rows) {
  size_t others = 0;
  for (size_t column = 1; column < std::size(kTitles); ++column) {
    size_t widest = kTitles[column].size();
    for (const Row& row : rows) widest = std::max(widest, row[column].size());
    others += widest + kGap;
  }
  return std::max(kLineColumns - static_cast<int>(others), kNameColumnsMin);
}

}  // namespace

std::string layers_table(const ModelReport& report) {
  std::vector<Row> rows;
  for (const ModelLayer& layer : report.layers) {
    rows.push_back({layer.name, layer.op, layer.output, layer.parameters == 0 ? "" : format_count(layer.parameters)});
  }
  std::vector<Table::Column> titles;
  for (const std::string_view title : kTitles) titles.push_back({std::string(title)});
  titles.back().align = Table::Align::right;
  Table table(std::move(titles));
  const int columns = name_columns(rows);
  for (Row& row : rows) {
    row[0] = shortened_in_middle(row[0], columns);
    table.add(std::move(row));
  }
  return table.text();
}

}  // namespace coterie
