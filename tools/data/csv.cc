#include "tools/data/csv.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "model_io/contract_targets.h"
#include "model_io/encode_field.h"
#include "tools/data/csv_targets.h"

namespace coterie {
namespace {

constexpr size_t kCategoriesMax = 1000;

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// NaN where there is no value.
Result<double> number_at(const CsvRows& rows, size_t row, size_t column, bool refuses_missing) {
  const Result<double> number = field_number(rows.field(row, column), refuses_missing);
  return number ? number : rows.error(row, column, number.error().message());
}

Result<std::vector<double>> numbers_of(const CsvRows& rows, size_t column, bool refuses_missing) {
  std::vector<double> numbers;
  numbers.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    COT_ASSIGN(const double number, number_at(rows, row, column, refuses_missing));
    numbers.push_back(number);
  }
  return numbers;
}

// The different texts of a column, in their order.
std::vector<std::string> values_of(const CsvRows& rows, size_t column, std::span<const uint32_t> chosen) {
  std::set<std::string> different;
  for (const uint32_t row : chosen) different.insert(rows.field(row, column));
  std::vector<std::string> values(different.begin(), different.end());
  std::sort(values.begin(), values.end(), comes_before);
  return values;
}

// The first row with a text that is no number; none if the column is one of numbers.
std::optional<size_t> first_text(const CsvRows& rows, size_t column) {
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string& field = rows.field(row, column);
    if (!is_missing(field) && !number_in(field)) return row;
  }
  return std::nullopt;
}

std::vector<uint32_t> all_of(const CsvRows& rows) {
  std::vector<uint32_t> all(rows.size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

Result<ContractColumn> fit_category(const CsvRows& rows, size_t column, std::span<const uint32_t> fitted,
                                    size_t text_row) {
  ContractColumn fit{.name = rows.columns()[column], .is_category = true};
  fit.values = values_of(rows, column, fitted);
  if (fit.values.size() <= kCategoriesMax) return fit;
  return rows.error(text_row, column,
                    quoted(rows.field(text_row, column)) + " stands in a category with " +
                        std::to_string(fit.values.size()) + " different values, at most " +
                        std::to_string(kCategoriesMax) +
                        "; a column of numbers has nothing but numbers, and drop=" + fit.name + " leaves a column out");
}

Status check_columns_exist(const CsvRows& rows, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const Result<size_t> found = rows.find(name); !found) return found.error();
  }
  return {};
}

bool looks_like_number(const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    const std::optional<double> number = number_in(value);
    if (!number) return false;
  }
  const bool is_whole = std::all_of(values.begin(), values.end(),
                                    [](const auto& v) { return *number_in(v) == std::floor(*number_in(v)); });
  return !is_whole || values.size() > kClassesGuessedMax;
}

// One column of the contract, over all rows.
struct Encoder {
  const ContractColumn& column;
  size_t index;  // in the file
  uint64_t missing = 0, unseen = 0, cut = 0;

  std::string note() const {
    if (cut > 0) {
      return "column " + column.name + ": " + std::to_string(cut) + (cut == 1 ? " text is" : " texts are") +
             " longer than " + std::to_string(column.text_bytes) + " bytes, and cut to that";
    }
    if (missing > 0) {
      return "column " + column.name + ": " + std::to_string(missing) + (missing == 1 ? " value is" : " values are") +
             " missing, taken as the mean";
    }
    if (unseen == 0) return {};
    return "column " + column.name + ": " + std::to_string(unseen) + (unseen == 1 ? " field has" : " fields have") +
           " a value that the fit did not see, taken as none";
  }
};

Status add_field(const CsvRows& rows, size_t row, const InputContract& contract, Encoder& encoder,
                 EncodedFields& fields) {
  const Result<FieldNote> note = encode_field(contract, encoder.column, rows.field(row, encoder.index), fields);
  if (!note) return rows.error(row, encoder.index, note.error().message());
  encoder.missing += *note == FieldNote::missing;
  encoder.unseen += *note == FieldNote::unseen;
  encoder.cut += *note == FieldNote::cut;
  return {};
}

}  // namespace

Result<ContractTarget> csv_target(const CsvRows& rows, const CsvOptions& options) {
  COT_ASSIGN(const size_t column, rows.find(options.target));
  if (rows.columns().size() < 2) return Error(ErrorCode::invalid_argument, "has no column but the target");
  for (size_t row = 0; row < rows.size(); ++row) {
    if (!rows.field(row, column).empty()) continue;
    return rows.error(row, column,
                      "is empty, expected the target of this row; rows without one cannot be learned from");
  }
  const std::vector<uint32_t> all = all_of(rows);
  ContractTarget target{.column = options.target};
  target.classes = values_of(rows, column, all);
  target.is_number = options.target_is_number.value_or(looks_like_number(target.classes));
  if (!target.is_number) {
    if (target.classes.size() <= kCategoriesMax) return target;
    return rows.error(0, column,
                      "the target has " + std::to_string(target.classes.size()) + " different texts, at most " +
                          std::to_string(kCategoriesMax) + " classes can be told apart; as=number learns numbers");
  }
  target.classes.clear();
  COT_ASSIGN(const std::vector<double> numbers, numbers_of(rows, column, true));
  const ContractColumn fit = fit_numbers("", numbers, all);
  target.mean = fit.mean;
  target.deviation = fit.deviation;
  target.low = fit.low;
  target.high = fit.high;
  return target;
}

Result<std::vector<int32_t>> csv_labels(const CsvRows& rows, const ContractTarget& target) {
  COT_ASSIGN(const size_t column, rows.find(target.column));
  std::map<std::string_view, int32_t> numbers;
  for (const std::string& name : target.classes) numbers.emplace(name, static_cast<int32_t>(numbers.size()));
  std::vector<int32_t> labels;
  labels.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string& field = rows.field(row, column);
    const auto found = numbers.find(field);
    if (found == numbers.end()) {
      std::string some;
      for (size_t i = 0; i < std::min<size_t>(5, target.classes.size()); ++i) {
        some += (i == 0 ? "" : ", ") + target.classes[i];
      }
      return rows.error(row, column,
                        quoted(field) + " is none of the " + std::to_string(target.classes.size()) +
                            " classes: " + some + (target.classes.size() > 5 ? ", ..." : ""));
    }
    labels.push_back(found->second);
  }
  return labels;
}

Result<std::vector<float>> csv_numbers(const CsvRows& rows, const ContractTarget& target) {
  COT_ASSIGN(const size_t column, rows.find(target.column));
  COT_ASSIGN(const std::vector<double> numbers, numbers_of(rows, column, true));
  return std::vector<float>(numbers.begin(), numbers.end());
}

Result<InputContract> fit_csv(const CsvRows& rows, const CsvOptions& options, std::vector<ContractTarget> targets,
                              std::span<const uint32_t> fitted) {
  COT_TRY(check_columns_exist(rows, options.dropped));
  COT_TRY(check_columns_exist(rows, options.categories));
  COT_TRY(check_columns_exist(rows, options.texts));
  InputContract contract{.kind = "table", .name = "csv"};
  contract.standardise = options.standardise;
  contract.one_hot = options.one_hot;
  contract.refuses_missing = options.refuses_missing;
  for (size_t i = 0; i < rows.columns().size(); ++i) {
    const std::string& name = rows.columns()[i];
    const bool is_target =
        std::any_of(targets.begin(), targets.end(), [&](const ContractTarget& each) { return each.column == name; });
    if (is_target || contains(options.dropped, name)) continue;
    if (contains(options.texts, name)) {
      contract.columns.push_back({.name = name, .text_bytes = options.text_bytes});
      continue;
    }
    const std::optional<size_t> text =
        contains(options.categories, name) ? std::optional<size_t>(0) : first_text(rows, i);
    if (text) {
      COT_ASSIGN(ContractColumn column, fit_category(rows, i, fitted, *text));
      contract.columns.push_back(std::move(column));
    } else {
      COT_ASSIGN(const std::vector<double> numbers, numbers_of(rows, i, options.refuses_missing));
      contract.columns.push_back(fit_numbers(name, numbers, fitted));
    }
  }
  set_targets(std::move(targets), contract);
  contract.inputs = inputs_of(contract);
  if (contract.inputs.empty()) return Error(ErrorCode::invalid_argument, "has no column but the target");
  return contract;
}

Result<ExampleTable> encode_csv(const CsvRows& rows, const InputContract& contract, std::vector<std::string>& notes) {
  std::vector<Encoder> encoders;
  for (const ContractColumn& column : contract.columns) {
    COT_ASSIGN(const size_t index, rows.find(column.name));
    encoders.push_back({column, index});
  }
  EncodedFields fields;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (Encoder& encoder : encoders) COT_TRY(add_field(rows, row, contract, encoder, fields));
  }
  ExampleTable table;
  table.header.name = contract.name;
  table.header.examples = rows.size();
  table.header.inputs = contract.inputs;
  for (const DatasetColumn& input : contract.inputs) {
    table.columns.push_back(input.type == ColumnType::int32 ? column_of(fields.codes) : column_of(fields.numbers));
  }
  COT_TRY(add_csv_targets(rows, contract, table));
  for (const Encoder& encoder : encoders) {
    if (std::string note = encoder.note(); !note.empty()) notes.push_back(std::move(note));
  }
  return table;
}

Result<ExampleTable> csv_table(std::string_view text, const std::string& name, const CsvOptions& options) {
  COT_ASSIGN(const CsvRows rows, CsvRows::parse(text));
  COT_ASSIGN(std::vector<ContractTarget> targets, csv_targets(rows, options));
  COT_ASSIGN(InputContract contract, fit_csv(rows, options, std::move(targets), all_of(rows)));
  contract.name = name;
  std::vector<std::string> notes;
  return encode_csv(rows, contract, notes);
}

}  // namespace coterie
