#include "tools/data/csv_targets.h"

#include <algorithm>
#include <set>

#include "model_io/contract_targets.h"
#include "tools/data/data_name.h"
#include "tools/data/target_cells.h"

namespace coterie {
namespace {

Result<TargetValues> values_of(const CsvRows& rows, const ContractTarget& target) {
  TargetValues values;
  if (target.is_number) {
    COT_ASSIGN(values.numbers, csv_numbers(rows, target));
  } else {
    COT_ASSIGN(values.labels, csv_labels(rows, target));
  }
  return values;
}

std::vector<std::string> columns_named(const CsvRows& rows, const std::string& target) {
  const auto& columns = rows.columns();
  if (std::find(columns.begin(), columns.end(), target) != columns.end()) return {target};
  return words_between_commas(target);
}

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

}  // namespace

Result<std::vector<ContractTarget>> csv_targets(const CsvRows& rows, const CsvOptions& options) {
  const std::vector<std::string> columns = columns_named(rows, options.target);
  const std::vector<bool>& kinds = options.targets_are_numbers;
  if (columns.size() > kContractTargetsMax) {
    return wrong("has " + std::to_string(columns.size()) + " targets, at most " + std::to_string(kContractTargetsMax));
  }
  if (!kinds.empty() && kinds.size() != columns.size()) {
    return wrong("as= says what " + std::to_string(kinds.size()) + " targets are, and there are " +
                 std::to_string(columns.size()));
  }
  std::vector<ContractTarget> targets;
  CsvOptions one = options;
  std::set<std::string> seen;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!seen.insert(columns[i]).second) return wrong("the target " + columns[i] + " is named twice");
    one.target = columns[i];
    if (!kinds.empty()) one.target_is_number = kinds[i];
    COT_ASSIGN(ContractTarget target, csv_target(rows, one));
    targets.push_back(std::move(target));
  }
  return targets;
}

Status add_csv_targets(const CsvRows& rows, const InputContract& contract, ExampleTable& table) {
  std::vector<TargetValues> all;
  for (const ContractTarget& target : targets_of(contract)) {
    COT_ASSIGN(TargetValues values, values_of(rows, target));
    all.push_back(std::move(values));
  }
  if (!contract.targets.empty()) {
    set_target_cells(all, contract, table);
    return {};
  }
  const bool is_number = contract.target.is_number;
  table.header.target = {.name = "target", .type = is_number ? ColumnType::float32 : ColumnType::int32, .shape = {}};
  table.header.classes = classes_in_header(contract);
  table.columns.push_back(is_number ? column_of(all[0].numbers) : column_of(all[0].labels));
  return {};
}

}  // namespace coterie
