// The unit of a target that is a number (ADR 100): devices train on it with mean 0 and deviation 1, and whoever reports
// an error of it says it in the number's own unit.
#pragma once

#include <cstdint>
#include <span>

#include "model_io/input_contract.h"
#include "tools/data/example_table.h"

namespace coterie {

// Fits mean, deviation and range on the rows `fitted` of `table`, whose target is a float32 number as it stands in the
// source, and asks for it to be standardised. A target without deviation keeps its unit, and
// so do several a row.
void fit_target(const ExampleTable& table, std::span<const uint32_t> fitted, ContractTarget& target);

// Makes the target of `table` what the contract says: (value - mean) / deviation, both as float32, which its column
// then has as offset and scale. Nothing is done for a contract that does not ask for it, a target that has a scale, or
// several a row.
void standardise_target(const ContractTarget& target, ExampleTable& table);

}  // namespace coterie
