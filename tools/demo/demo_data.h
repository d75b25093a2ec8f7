// DemoData: everything that is decided before the first process starts: the examples, who gets which, the initial
// model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/data/example_table.h"
#include "tools/demo/options.h"
#include "tools/demo/run_folder.h"

namespace coterie {

struct DemoData {
  ExampleTable examples;        // shards index into it
  std::vector<Indices> shards;  // one a device
  Bytes held_out;               // a data set file: the data set's own test part, or a fifth of it
  uint64_t held_out_examples = 0;
  Bytes model;               // untrained
  uint64_t value_count = 0;  // of it

  uint64_t training_examples() const;
  std::vector<std::vector<uint32_t>> label_counts() const;  // for each device
};

// Errors, each in one line: what load_data, partition and make_model say; invalid_argument unless the examples have one
// input of numbers and one class each.
Result<DemoData> prepare_data(const DemoOptions& options);

// Gives each device its data.cotf, and writes held-out.cotf. Looks up now and then whether it was interrupted.
Status write_data(const DemoData& data, const RunFolder& folder);

}  // namespace coterie
