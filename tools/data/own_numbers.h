// Classes that are called by numbers, where a source numbers those that it has.
//
// Tables and arrays number the values of a target in their order: labels 3, 5 and 9 become 0, 1 and 2. A model of 10
// classes that somebody else has trained means 3, 5 and 9, and would be judged by others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model_io/input_contract.h"
#include "tools/data/example_table.h"

namespace coterie {

class OwnNumbers {
 public:
  // For a model of `classes` classes, if each of the target's is called by a whole number below that, if they are
  // fewer, and if the source has numbered some otherwise. `ignored` is a label that is no class (ignored_class.h);
  // outside of [0, classes) it has a number behind all others.
  static std::optional<OwnNumbers> of(const ContractTarget& target, int64_t classes, std::optional<int32_t> ignored);

  // The table was read as the target.
  void put_into(ExampleTable& table) const;
  // What the classes are called then.
  std::vector<std::string> class_names() const;

 private:
  OwnNumbers(int64_t classes, std::optional<int32_t> behind) : classes_(classes), behind_(behind) {}

  int64_t classes_;
  std::optional<int32_t> behind_;
  std::vector<int32_t> numbers_;  // for each that the source has given
};

// Puts numbers[label] for each label. The table has one label an example, and numbers has one for each.
void renumber_labels(std::span<const int32_t> numbers, ExampleTable& table);

}  // namespace coterie
