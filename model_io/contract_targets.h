// Contracts of several targets, as trainings with several heads take them (device_sdk/runtime/loss_heads.h).
//
// An example has a cell for each of them, in their order. Where all are classes the cells are int32; otherwise all are
// float32, and classes are whole numbers among them. A number stands in its cell as it is in the source: what a model
// answers is then in the number's own unit.
//
// A table has several columns, each with its own classes or range (InputContract::targets). An array has several cells
// a row, of which the contract tells no more than of one (ContractTarget::cells).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "model_io/input_contract.h"

namespace coterie {

inline constexpr size_t kContractTargetsMax = 4096;

inline bool has_several_targets(const InputContract& contract) {
  return !contract.targets.empty() || contract.target.cells > 1;
}

uint64_t target_cells(const InputContract& contract);  // of an example

// Those that have a name of their own; the one, where there is one.
std::span<const ContractTarget> targets_of(const InputContract& contract);

// Puts them there. There is at least one.
void set_targets(std::vector<ContractTarget> targets, InputContract& contract);

// Whether the cells are float32.
bool has_number_target(const InputContract& contract);

// What a data set's header says: 0 where the cells are float32, otherwise the most classes that any target has.
uint32_t classes_in_header(const InputContract& contract);

// For what takes one target only: `taker`, as in "the split labels:turned". invalid_argument names it, the contract and
// the targets.
Status check_one_target(const InputContract& contract, const std::string& taker);

}  // namespace coterie
