#include "tools/data/ignored_class.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace coterie {

int32_t number_of_ignored(int32_t label, const ContractTarget& target) {
  if (target.is_number || target.cells > 1) return label;
  const auto found = std::ranges::find(target.classes, std::to_string(label));
  if (found == target.classes.end()) return label;
  // A class that has its own number is where the others expect it.
  if (found - target.classes.begin() == label) return label;
  return static_cast<int32_t>(target.classes.size()) - 1;
}

int32_t ignore_class(int32_t label, const ContractTarget& target, ExampleTable& table) {
  const int32_t last = number_of_ignored(label, target);
  if (last == label || table.labels().empty()) return last;
  const auto found = std::ranges::find(target.classes, std::to_string(label));
  const auto number = static_cast<int32_t>(found - target.classes.begin());
  Bytes& column = table.columns.back().own();
  for (size_t at = 0; at < column.size(); at += sizeof(int32_t)) {
    int32_t each = 0;
    std::memcpy(&each, column.data() + at, sizeof each);
    if (each == number) each = last;
    else if (each > number) --each;
    std::memcpy(column.data() + at, &each, sizeof each);
  }
  return last;
}

}  // namespace coterie
