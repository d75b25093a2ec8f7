// What the nodes of an imported graph give, as a trace, and how two nodes differ.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model_import/interpret/interpret.h"
#include "tools/compare_tensors/tensor_trace.h"

namespace coterie {

struct GraphTrace {
  TensorTrace trace;
  std::vector<const model_import::Node*> nodes;  // that made the traced values, of the graph; null: an input
};

// Computed by the interpreter as what the graph predicts, its numbers as they are stored: float32, and float16 where
// nodes are of that width (Intent::stored_prediction). Values that no output needs are not computed; those that are no
// tensors of numbers have no numbers. Errors: those of interpret(); too_large (kTracedBytesMax).
Result<GraphTrace> trace_of(const model_import::Graph& graph, const model_import::Arrays& inputs);

// What two nodes do not have in common beside what they read: "epsilon: 0.001 and 1e-05", "weight: transposed". A table
// is apart where an element is off by more than the tolerance times b's largest.
std::vector<std::string> node_notes(const model_import::Graph& a, const model_import::Node& of_a,
                                    const model_import::Graph& b, const model_import::Node& of_b, double tolerance);

}  // namespace coterie
