// The command `coterie vertical bottom`: the model that a party's devices train, whose bottom begins the party's part
// of a split network.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/exit_code.h"

namespace coterie {

struct MakeBottomOptions {
  std::string manifest;  // of the training that it is for
  std::string contract;  // of the devices' data
  std::string to;        // the model file
  uint64_t seed = 1;
};

// Prints what it made, or the error. The head has an output for each class of the contract, one for a number.
ExitCode run_make_bottom(const MakeBottomOptions& options);

}  // namespace coterie
