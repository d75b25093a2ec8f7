// coterie model predict: what a model says of examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device_sdk/runtime/optimisation.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct PredictOptions {
  std::string model, data;  // files; of the data also a name that load_data knows
  uint64_t limit = 10;      // examples; 0: all
  uint32_t top = 1;         // classes shown of each row
  uint32_t threads = 1;
  Optimisation level = Optimisation::rounding;
  std::vector<std::string> outputs;  // of the model, by name; empty: all
  std::string delegate;              // a name that open_delegate knows; empty: our kernels alone
  bool as_json = false;
  std::string to;  // an .npz file that all is written to and nothing printed; empty: none
};
ExitCode predict_with_model(const PredictOptions& options);

}  // namespace coterie
