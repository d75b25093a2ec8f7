// Training data as the blocks of an entry, and back. Pure.
//
//   block 0  JSON: {"contract": the text of an input contract, "by_contract": bool, "notes": [...], "groups": [...],
//            "held_out": bool}; groups are the different ones, in the order of their first examples
//   block 1  the examples, a sealed data set file as `dataset_file` makes it
//   then     where there is a held-out part, its data set file
//   then     where there are groups, a u32 an example: its place among them
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/data/load.h"

namespace coterie {

// One Bytes a block. Nothing where an entry cannot have it: names that are not UTF-8, no example at all, more than a
// frame takes.
std::vector<Bytes> blocks_of(const TrainingData& data);

// The columns are views of `blocks`, which stay good as long as `keeper` is held. Errors: malformed and those of the
// data set file and the contract.
Result<TrainingData> data_of(std::span<const ByteView> blocks, const std::shared_ptr<const void>& keeper);

// Whether nothing is lost: the same contract, notes, groups, headers and values.
bool is_same(const TrainingData& a, const TrainingData& b);

}  // namespace coterie
