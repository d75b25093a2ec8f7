#include "tools/data/own_numbers.h"

#include <charconv>
#include <cstring>
#include <limits>

namespace coterie {
namespace {

// The number that `name` is the usual text of; nothing if it is none, or is not below `end`.
std::optional<int32_t> number_called(const std::string& name, int64_t end) {
  int32_t number = 0;
  const auto [behind, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || number < 0 || number >= end || std::to_string(number) != name) return std::nullopt;
  return number;
}

}  // namespace

std::optional<OwnNumbers> OwnNumbers::of(const ContractTarget& target, int64_t classes,
                                         std::optional<int32_t> ignored) {
  if (target.is_number || target.cells > 1 || classes >= std::numeric_limits<int32_t>::max()) return std::nullopt;
  if (ignored && *ignored >= 0 && *ignored < classes) ignored.reset();
  OwnNumbers own(classes, ignored);
  int64_t others = 0;
  bool moves = false;
  for (const std::string& name : target.classes) {
    if (ignored && name == std::to_string(*ignored)) {
      own.numbers_.push_back(static_cast<int32_t>(classes));
      continue;
    }
    const std::optional<int32_t> number = number_called(name, classes);
    if (!number) return std::nullopt;
    moves = moves || *number != others;
    others += 1;
    own.numbers_.push_back(*number);
  }
  if (!moves || others >= classes) return std::nullopt;
  return own;
}

void OwnNumbers::put_into(ExampleTable& table) const {
  renumber_labels(numbers_, table);
  table.header.classes = static_cast<uint32_t>(classes_) + (behind_ ? 1 : 0);
}

std::vector<std::string> OwnNumbers::class_names() const {
  std::vector<std::string> names;
  for (int64_t number = 0; number < classes_; ++number) names.push_back(std::to_string(number));
  if (behind_) names.push_back(std::to_string(*behind_));
  return names;
}

void renumber_labels(std::span<const int32_t> numbers, ExampleTable& table) {
  Bytes& column = table.columns.back().own();
  for (size_t at = 0; at < column.size(); at += sizeof(int32_t)) {
    int32_t label = 0;
    std::memcpy(&label, column.data() + at, sizeof label);
    label = numbers[static_cast<size_t>(label)];
    std::memcpy(column.data() + at, &label, sizeof label);
  }
}

}  // namespace coterie
