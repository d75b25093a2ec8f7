// coterie model delegate: what a delegate computes of a model, whether it computes the same, and how long it takes.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/exit_code.h"

namespace coterie {

struct ModelDelegateOptions {
  std::string model;  // file
  std::string to;     // a name that open_delegate knows
  uint32_t batch_size = 1;
  uint32_t threads = 1;
  uint32_t steps = 20;               // measured, with and without
  bool takes_whatever_cost = false;  // PartitionSettings
  bool as_json = false;
};

// On random inputs. failure: a part was refused.
ExitCode delegate_model(const ModelDelegateOptions& options);

}  // namespace coterie
