// coterie model compare: two models, graphs of other programs, or files of arrays, tensor by tensor.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/exit_code.h"

namespace coterie {

struct CompareModelsOptions {
  std::string a, b;    // model files, or files of arrays; b is the reference
  std::string data;    // of models, as open_data; empty: random inputs, always the same
  std::string inputs;  // where a graph is compared: .npz or .npy; empty: random inputs by `seed`
  uint64_t seed = 1;
  uint32_t examples = 16;   // the first so many; of random inputs of a graph that leaves its batch open
  double tolerance = 1e-4;  // of the largest value of b
  std::string page;         // file of the HTML page; empty: none
  bool as_json = false;
};

// ok: everything agrees; failure: something does not, or has no counterpart of its name (arrays); usage: inputs.
ExitCode compare_models(const CompareModelsOptions& options);

}  // namespace coterie
