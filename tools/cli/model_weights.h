// coterie model load-weights: weights that another program has trained, into a model file.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model_import/mapping/map_weights.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct LoadWeightsOptions {
  std::string graph, weights, to;    // files; the graph a model file or an ONNX model
  std::vector<std::string> maps;     // TENSOR=TENSOR with stars, or files of them, one a line
  std::string part;                  // of a PyTorch checkpoint with several
  std::string check;                 // .npz with inputs and outputs; empty: none
  double difference_max = 1e-4;      // from those outputs, of the largest
  model_import::MapOptions mapping;  // but for `rows`
  std::optional<model_import::RowOrder> rows;
  bool as_json = false;
};

// Prints the mapping report. Writes nothing and fails if a tensor is ambiguous, unmatched or unused, or the outputs
// differ.
ExitCode load_weights(const LoadWeightsOptions& options);

// What --map says: "a.*=b.*" itself, or the lines of the file of that name; blank ones and those after # are left out.
Result<std::vector<std::pair<std::string, std::string>>> parse_maps(const std::vector<std::string>& maps);

}  // namespace coterie
