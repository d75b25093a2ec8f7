#include "tools/cli/profile_table.h"

#include <algorithm>

#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr int kColumns = 80;
constexpr int kNumberColumns = 10 + 11 + 7 + 7 + 6 * 2;  // of the four columns of numbers, and what is between columns
constexpr int kNameColumnsMin = 8;                       // that an op's name has at the least

double total(const OpTime& op) { return op.forward_seconds + op.backward_seconds; }

double sum_of(const std::vector<OpTime>& ops) {
  double sum = 0;
  for (const OpTime& op : ops) sum += total(op);
  return sum;
}

std::vector<OpTime> by_kind(const std::vector<OpTime>& ops) {
  std::vector<OpTime> kinds;
  for (const OpTime& op : ops) {
    const auto found = std::ranges::find(kinds, op.kind, &OpTime::kind);
    OpTime& kind = found == kinds.end() ? kinds.emplace_back() : *found;
    kind.kind = op.kind;
    kind.forward_seconds += op.forward_seconds;
    kind.backward_seconds += op.backward_seconds;
    kind.forward_flops += op.forward_flops;
  }
  std::ranges::stable_sort(kinds, std::ranges::greater(), total);
  return kinds;
}

std::string microseconds(double seconds) { return seconds > 0 ? format_fixed(seconds * 1e6, 1) : ""; }

std::string rate(double flops, double seconds) {
  return flops > 0 && seconds > 0 ? format_fixed(flops / seconds / 1e9, 1) : "";
}

int name_columns(const std::vector<OpTime>& ops) {
  size_t kind = 4, algorithm = 9;  // their heads
  for (const OpTime& op : ops) {
    kind = std::max(kind, std::string_view(op.kind).size());
    algorithm = std::max(algorithm, std::string_view(op.algorithm).size());
  }
  return std::max(kNameColumnsMin, kColumns - kNumberColumns - static_cast<int>(kind + algorithm));
}

std::string table_of(const std::vector<OpTime>& ops, bool has_names) {
  using enum Table::Align;
  std::vector<Table::Column> columns = {
      {"KIND"}, {"FORWARD us", right}, {"BACKWARD us", right}, {"SHARE", right}, {"GFLOP/s", right}};
  if (has_names) {
    columns.insert(columns.begin(), {"OP"});
    columns.push_back({"ALGORITHM"});
  }
  Table table(columns);
  const double all = sum_of(ops);
  const int names = name_columns(ops);
  for (const OpTime& op : ops) {
    std::vector<std::string> cells = {op.kind, microseconds(op.forward_seconds), microseconds(op.backward_seconds),
                                      format_percent(total(op) / all), rate(op.forward_flops, op.forward_seconds)};
    if (has_names) {
      cells.insert(cells.begin(), shortened_in_middle(op.name, names));
      cells.push_back(op.algorithm);
    }
    table.add(cells);
  }
  return table.text();
}

}  // namespace

std::string kinds_table(const std::vector<OpTime>& ops) { return table_of(by_kind(ops), false); }

std::string ops_table(const std::vector<OpTime>& ops) { return table_of(ops, true); }

}  // namespace coterie
