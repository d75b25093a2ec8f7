// Random inputs for an ONNX graph, of the shapes that it declares.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "model_import/interpret/interpret.h"

namespace coterie {

// The batch that a file was exported for, or `absent` where it leaves it open.
int64_t declared_batch(const model_import::Graph& graph, int64_t absent);

// Floats in [-scale, scale] that float32 holds; booleans; integers in [0, n), where n is the smallest dimension that
// the graph looks up by them in a constant table, and 2 where it looks up none. `sizes` are those of open dimensions,
// by name. Errors: invalid_argument (a dimension without a size), too_large.
Result<model_import::Arrays> random_inputs(const model_import::Graph& graph,
                                           const std::map<std::string, int64_t>& sizes, int64_t batch, uint64_t seed,
                                           double scale);

}  // namespace coterie
