#include "tools/cli/data_report.h"

#include <algorithm>
#include <cmath>

#include "model_io/contract_targets.h"
#include "tools/cli/table.h"
#include "tools/cli/terminal.h"
#include "tools/cli/wrap.h"
#include "tools/data/csv_rows.h"

namespace coterie {
namespace {

constexpr int kNameColumnsMax = 24;
constexpr int kClassColumnsMax = 12;
constexpr size_t kClassesNamedMax = 6;
constexpr size_t kTargetsNamedMax = 16;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string listed_some(const std::vector<std::string>& values, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(values.size(), most); ++i) {
    text += (i == 0 ? "" : ", ") + (values[i].empty() ? "(empty)" : shortened(values[i], kNameColumnsMax));
  }
  return values.size() > most ? text + ", ..." : text;
}

bool are_numbers(const std::vector<std::string>& classes) {
  return std::all_of(classes.begin(), classes.end(),
                     [](const std::string& each) { return number_in(each).has_value(); });
}

std::string shape_text(const DatasetColumn& input) {
  std::string text;
  for (const int64_t size : input.shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text.empty() ? "1" : text;
}

std::string inputs_text(const InputContract& contract) {
  std::string text;
  for (const DatasetColumn& input : contract.inputs) {
    text += (text.empty() ? "" : " and ") + shape_text(input) + " " + std::string(to_string(input.type)) + " (" +
            printable(input.name) + ")";
  }
  if (contract.columns.empty()) return text;
  text += " of " + counted(contract.columns.size(), "column");
  return text + (contract.standardise ? ", numbers with mean 0 and deviation 1" : ", numbers as they are");
}

std::vector<std::string> cells_of(const ContractColumn& column) {
  const std::string name = shortened(column.name, kNameColumnsMax);
  if (column.is_category) {
    return {name, "category", counted(column.values.size(), "value") + ": " + listed_some(column.values, 3), "", ""};
  }
  if (column.text_bytes > 0) return {name, "text", counted(column.text_bytes, "byte"), "", ""};
  const bool is_constant = column.deviation == 0;
  return {name, is_constant ? "constant" : "number",
          is_constant ? number_text(column.low) : number_text(column.low) + " to " + number_text(column.high),
          number_text(column.mean), column.missing == 0 ? "" : format_count(column.missing)};
}

std::string device_name(const ShardRecord& record) {
  const std::string file = record.file.ends_with(".cotf") ? record.file.substr(0, record.file.size() - 5) : record.file;
  return record.group.empty() ? file : shortened(file + " " + record.group, kNameColumnsMax);
}

// Classes from `first` on, summed.
uint64_t sum_from(const ShardRecord& record, size_t first) {
  uint64_t sum = 0;
  for (size_t i = first; i < record.classes.size(); ++i) sum += record.classes[i];
  return sum;
}

std::string target_text(const ContractTarget& target, bool is_guess) {
  std::string what = target.column.empty() ? "target" : "target " + printable(target.column);
  if (target.cells > 1) what += ", " + format_count(target.cells) + " of an example";
  if (target.is_number) {
    what += (target.cells > 1 ? ": numbers, " : ": a number, ") + number_text(target.low) + " to " +
            number_text(target.high) + ", deviation " + number_text(target.deviation) +
            (target.is_standardised ? ", which the examples have as 1" : "");
  } else {
    what += ": " + std::to_string(target.classes.size()) + (target.classes.size() == 1 ? " class (" : " classes (") +
            listed_some(target.classes, kClassesNamedMax) + ")";
  }
  if (is_guess && (target.is_number || are_numbers(target.classes))) {
    what += target.is_number ? "; a guess, as=class takes it as classes" : "; a guess, as=number takes it as a number";
  }
  return what;
}

}  // namespace

std::string encoding_text(const InputContract& contract, bool is_guess, int columns) {
  std::string text;
  const std::span<const ContractTarget> targets = targets_of(contract);
  for (size_t i = 0; i < std::min(targets.size(), kTargetsNamedMax); ++i) {
    text += wrapped(target_text(targets[i], is_guess), columns, 2) + "\n";
  }
  if (targets.size() > kTargetsNamedMax)
    text += "and " + counted(targets.size() - kTargetsNamedMax, "target") + " more\n";
  return text + wrapped("inputs: " + inputs_text(contract), columns, 2) + "\n";
}

std::string column_table(const InputContract& contract, int columns) {
  if (contract.columns.empty()) return {};
  Table table({{"COLUMN"}, {"KIND"}, {"RANGE"}, {"MEAN", Table::Align::right}, {"MISSING", Table::Align::right}});
  bool has_missing = false;
  for (const ContractColumn& column : contract.columns) has_missing |= column.missing > 0;
  // What is left for the widest cell, the range, beside the others.
  int name_width = 6, mean_width = 4;
  for (const ContractColumn& column : contract.columns) {
    const std::vector<std::string> cells = cells_of(column);
    name_width = std::max(name_width, width_of(cells[0]));
    mean_width = std::max(mean_width, width_of(cells[3]));
  }
  const int room = columns - name_width - mean_width - 8 - 7 - 8;
  for (const ContractColumn& column : contract.columns) {
    std::vector<std::string> cells = cells_of(column);
    cells[2] = shortened(cells[2], std::max(12, room));
    if (!has_missing) cells[4].clear();
    table.add(std::move(cells));
  }
  return table.text();
}

std::string device_table(const ShardFolder& folder, int columns, size_t devices_max) {
  std::vector<const ShardRecord*> records;
  for (size_t i = 0; i < std::min(devices_max, folder.devices.size()); ++i) records.push_back(&folder.devices[i]);
  if (folder.held_out) records.push_back(&*folder.held_out);
  int left = columns, name_width = 6, examples_width = 8;
  for (const ShardRecord* record : records) {
    name_width = std::max(name_width, width_of(device_name(*record)));
    examples_width = std::max(examples_width, width_of(format_count(record->examples)));
  }
  left -= name_width + 2 + examples_width;
  const std::vector<std::string> classes =
      has_several_targets(folder.contract) ? std::vector<std::string>() : folder.contract.target.classes;
  const auto width_at = [&](size_t label) {
    int width = std::min(kClassColumnsMax, width_of(printable(classes[label])));
    for (const ShardRecord* record : records) {
      if (label < record->classes.size()) width = std::max(width, width_of(format_count(record->classes[label])));
    }
    return width + 2;
  };
  constexpr int kOthersWidth = 14;
  int all_width = 0;
  for (size_t label = 0; label < classes.size(); ++label) all_width += width_at(label);
  size_t shown = all_width <= left ? classes.size() : 0;
  for (int room = left - kOthersWidth; shown < classes.size(); ++shown) {
    room -= width_at(shown);
    if (room < 0) break;
  }
  std::vector<Table::Column> titles = {{"DEVICE"}, {"EXAMPLES", Table::Align::right}};
  for (size_t i = 0; i < shown; ++i) titles.push_back({shortened(classes[i], kClassColumnsMax), Table::Align::right});
  if (shown < classes.size()) {
    titles.push_back({"+" + std::to_string(classes.size() - shown) + " more", Table::Align::right});
  }
  Table table(titles);
  for (const ShardRecord* record : records) {
    std::vector<std::string> cells = {device_name(*record), format_count(record->examples)};
    for (size_t i = 0; i < shown; ++i) {
      const uint32_t count = i < record->classes.size() ? record->classes[i] : 0;
      cells.push_back(count == 0 ? "." : format_count(count));
    }
    if (shown < classes.size()) cells.push_back(format_count(sum_from(*record, shown)));
    table.add(std::move(cells));
  }
  std::string text = table.text();
  if (folder.devices.size() > devices_max) {
    text += "and " + counted(folder.devices.size() - devices_max, "device") + " more; --all shows them\n";
  }
  return text;
}

}  // namespace coterie
