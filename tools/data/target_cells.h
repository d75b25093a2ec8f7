// The cells of several targets (model_io/contract_targets.h) as the one column that a data set has for them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model_io/input_contract.h"
#include "tools/data/example_table.h"

namespace coterie {

// A target of every example: its classes, or its numbers.
struct TargetValues {
  std::vector<int32_t> labels;  // empty where it is a number
  std::vector<float> numbers;
};

// Adds `values`, one of each of contract.targets and each as long as `table`, as the table's target.
void set_target_cells(std::span<const TargetValues> values, const InputContract& contract, ExampleTable& table);

}  // namespace coterie
