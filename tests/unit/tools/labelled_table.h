// Examples that have labels and nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/data/example_table.h"

namespace coterie::test {

inline ExampleTable labelled(const std::vector<int32_t>& labels) {
  ExampleTable table;
  table.header.examples = labels.size();
  table.header.target = {.name = "target", .type = ColumnType::int32, .shape = {}};
  table.columns.push_back(column_of(labels));
  return table;
}

}  // namespace coterie::test
