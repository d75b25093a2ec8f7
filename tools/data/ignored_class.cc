#include "tools/data/ignored_class.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tools/data/own_numbers.h"

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
  std::vector<int32_t> numbers;
  for (int32_t each = 0; each <= last; ++each) {
    numbers.push_back(each == number ? last : each > number ? each - 1 : each);
  }
  renumber_labels(numbers, table);
  return last;
}

}  // namespace coterie
