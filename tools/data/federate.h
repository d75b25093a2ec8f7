// FederatedData: one source of data as a federation has it: a shard a device and a held-out part, all of one encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model_io/input_contract.h"
#include "tools/data/example_table.h"
#include "tools/data/partition.h"

namespace coterie {

inline constexpr double kHeldOutFraction = 0.2;
inline constexpr uint32_t kDevicesDefault = 20;
inline constexpr uint32_t kShardDevicesMax = 100'000;

struct FederateOptions {
  std::string source;  // load_data
  DataSplit split;
  uint32_t devices = 0;                 // 0: as the split says (group, file), otherwise kDevicesDefault
  std::optional<double> held_out = {};  // in [0, 0.9], of the examples; by default the source's own test part, or
                                        // kHeldOutFraction
  uint64_t seed = 1;                    // of everything that chance decides
  std::optional<DataSplit> split_of_numbers = {};  // in place of `split` where the target is a number, or several
};

struct FederatedData {
  InputContract contract;
  ExampleTable examples;            // shards index into it
  std::vector<Indices> shards;      // one a device
  std::vector<std::string> groups;  // of each device, for split group:COLUMN; otherwise empty
  std::optional<ExampleTable> held_out;
  std::vector<std::string> notes;  // what the reader left out or filled in, a sentence each
  DataSplit split;
  uint64_t seed = 1;

  // What device `device` (from 0) has.
  ExampleTable shard(uint32_t device) const;
};

// Scales and categories are fitted on what is not held out, and so is the unit of a target that is a number
// (target_scale.h). The same options and files give the same bytes. Errors in one line: what load_data and partition
// say; invalid_argument (a text with a target at each place; a split that does not fit the data).
Result<FederatedData> federate(const FederateOptions& options);

}  // namespace coterie
