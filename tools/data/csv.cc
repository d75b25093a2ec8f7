#include "tools/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "tools/data/csv_reader.h"

namespace coterie {
namespace {

constexpr size_t kCategoriesMax = 1000;

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

struct Column {
  std::string name;
  std::vector<double> numbers;      // one a row, or
  std::vector<int32_t> codes;       // one a row, an index into
  std::vector<std::string> values;  // of a category; empty otherwise

  bool is_category() const { return !values.empty(); }
};

// The rows below the header, and where a field of them is.
struct Rows {
  std::span<const CsvRow> all;
  const std::string& field(size_t row, size_t column) const { return all[row].fields[column]; }
  Error error(size_t row, const std::string& column, const std::string& what) const {
    return Error(ErrorCode::malformed, "line " + std::to_string(all[row].line) + ", column " + column + ": " + what);
  }
};

bool comes_before(const std::string& a, const std::string& b) {
  const auto x = number_in(a), y = number_in(b);
  if (x && y && *x != *y) return *x < *y;
  if (x.has_value() != y.has_value()) return x.has_value();
  return a < b;
}

Result<Column> numbers_of(const Rows& rows, size_t index, const std::string& name) {
  Column column{.name = name};
  for (size_t row = 0; row < rows.all.size(); ++row) {
    const std::string& field = rows.field(row, index);
    const std::optional<double> number = number_in(field);
    if (!number) {
      return rows.error(row, name,
                        field.empty() ? "is empty, expected a number" : "expected a number, is \"" + field + "\"");
    }
    column.numbers.push_back(*number);
  }
  return column;
}

// `first_text`: a row where there is no number, for the error.
Result<Column> category_of(const Rows& rows, size_t index, const std::string& name, size_t first_text) {
  Column column{.name = name};
  for (size_t row = 0; row < rows.all.size(); ++row) column.values.push_back(rows.field(row, index));
  std::sort(column.values.begin(), column.values.end(), comes_before);
  column.values.erase(std::unique(column.values.begin(), column.values.end()), column.values.end());
  if (column.values.size() > kCategoriesMax) {
    return rows.error(first_text, name,
                      "\"" + rows.field(first_text, index) + "\" stands in a category with " +
                          std::to_string(column.values.size()) + " different values, at most " +
                          std::to_string(kCategoriesMax) + "; a column of numbers has nothing but numbers");
  }
  for (size_t row = 0; row < rows.all.size(); ++row) {
    const auto value =
        std::lower_bound(column.values.begin(), column.values.end(), rows.field(row, index), comes_before);
    column.codes.push_back(static_cast<int32_t>(value - column.values.begin()));
  }
  return column;
}

Result<Column> feature_of(const Rows& rows, size_t index, const std::string& name) {
  for (size_t row = 0; row < rows.all.size(); ++row) {
    const std::string& field = rows.field(row, index);
    if (!field.empty() && !number_in(field)) return category_of(rows, index, name, row);
  }
  return numbers_of(rows, index, name);
}

void standardise(std::vector<double>& numbers) {
  const auto count = static_cast<double>(numbers.size());
  double mean = 0, squares = 0;
  for (const double x : numbers) mean += x / count;
  for (const double x : numbers) squares += (x - mean) * (x - mean) / count;
  const double factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
  for (double& x : numbers) x = (x - mean) * factor;
}

void add_input(ExampleTable& table, const std::string& name, ColumnType type, size_t width, Bytes values) {
  if (width == 0) return;
  table.header.inputs.push_back({.name = name, .type = type, .shape = {static_cast<int64_t>(width)}});
  table.columns.push_back(std::move(values));
}

void add_inputs(ExampleTable& table, const std::vector<Column>& features, bool one_hot) {
  std::vector<float> numbers;
  std::vector<int32_t> codes;
  for (size_t row = 0; row < table.size(); ++row) {
    for (const Column& column : features) {
      if (!column.is_category()) {
        numbers.push_back(static_cast<float>(column.numbers[row]));
      } else if (one_hot) {
        numbers.resize(numbers.size() + column.values.size());
        numbers[numbers.size() - column.values.size() + static_cast<size_t>(column.codes[row])] = 1;
      } else {
        codes.push_back(column.codes[row]);
      }
    }
  }
  const size_t rows = table.size();
  add_input(table, one_hot ? "features" : "numbers", ColumnType::float32, numbers.size() / rows, column_of(numbers));
  add_input(table, "categories", ColumnType::int32, codes.size() / rows, column_of(codes));
}

Status add_target(ExampleTable& table, const Rows& rows, size_t index, const CsvOptions& options) {
  if (options.target_is_number) {
    COT_ASSIGN(const Column column, numbers_of(rows, index, options.target));
    table.header.target = {.name = "target", .type = ColumnType::float32, .shape = {}};
    table.columns.push_back(column_of(std::vector<float>(column.numbers.begin(), column.numbers.end())));
    return {};
  }
  COT_ASSIGN(const Column column, category_of(rows, index, options.target, 0));
  table.header.target = {.name = "target", .type = ColumnType::int32, .shape = {}};
  table.header.classes = static_cast<uint32_t>(column.values.size());
  table.columns.push_back(column_of(column.codes));
  return {};
}

}  // namespace

Result<ExampleTable> csv_table(std::string_view text, const std::string& name, const CsvOptions& options) {
  COT_ASSIGN(const std::vector<CsvRow> file, parse_csv(text));
  if (file.size() < 2) return Error(ErrorCode::malformed, "has no rows below its header");
  const std::vector<std::string>& names = file[0].fields;
  const auto target = std::find(names.begin(), names.end(), options.target);
  if (target == names.end()) {
    std::string all;
    for (const std::string& column : names) all += (all.empty() ? "" : ", ") + column;
    return Error(ErrorCode::invalid_argument, "has no column " + options.target + "; it has " + all);
  }
  if (names.size() < 2) return Error(ErrorCode::invalid_argument, "has no column but the target");
  const Rows rows{std::span(file).subspan(1)};
  const auto target_index = static_cast<size_t>(target - names.begin());
  std::vector<Column> features;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == target_index) continue;
    COT_ASSIGN(Column column, feature_of(rows, i, names[i]));
    if (options.standardise && !column.is_category()) standardise(column.numbers);
    features.push_back(std::move(column));
  }
  ExampleTable table;
  table.header.name = name;
  table.header.examples = rows.all.size();
  add_inputs(table, features, options.one_hot);
  COT_TRY(add_target(table, rows, target_index, options));
  return table;
}

}  // namespace coterie
