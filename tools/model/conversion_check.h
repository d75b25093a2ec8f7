// Whether a model file computes what the ONNX graph says that it was made of (ADR 91).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "model_import/graph/graph.h"

namespace coterie {

// Allowed is kAbsoluteMax + kRelativeMax times the largest value of the output: float32 sums in another order than
// the interpreter's doubles, layer upon layer.
inline constexpr double kAbsoluteMax = 1e-6, kRelativeMax = 1e-4;
inline constexpr uint64_t kConversionTrials = 3;  // batches of random inputs, each of another seed

struct ConversionResult {
  std::string output;     // its name in the ONNX model
  uint64_t examples = 0;  // in all trials
  double absolute = 0;    // the largest difference; infinite where shapes differ, or one is no number
  double relative = 0;    // the largest of a trial, as a part of the largest value of that trial's output
  bool agrees = false;
  // Where it does not agree: the first tensor that differs, by its ONNX name, and the node that makes it.
  std::string first_tensor, first_node;
};

// The graph with one output, as a model file. It is asked again for graphs that end earlier, to find the first tensor
// that differs.
using Conversion = std::function<Result<Bytes>(model_import::Graph)>;

// `graph` as the reader handed it over, its only output the one that `model` computes; `sizes` of open dimensions. The
// model runs on this CPU's kernels. Errors, and the conversion is unverified: those of interpret(), which name an
// operator that the interpreter does not know; those of running the model; invalid_argument (for random inputs the
// output has no finite number).
Result<ConversionResult> check_conversion(const model_import::Graph& graph, const std::map<std::string, int64_t>& sizes,
                                          const Model& model, const Conversion& convert);

}  // namespace coterie
