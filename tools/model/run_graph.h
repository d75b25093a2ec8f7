// A graph of ONNX computed as it stands, whether or not a model file can be made of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model_import/interpret/interpret.h"

namespace coterie {

using GraphOutputs = std::vector<std::pair<std::string, model_import::Array>>;  // in the graph's order

// All outputs by the interpreter, for one file a graph input, in its order: a TensorProto, or a SequenceProto or an
// OptionalProto where the graph declares one. It does what the graph says: a node that trains trains
// (model_import/interpret/intent.h). Errors: malformed, too_large; invalid_argument (another
// number of inputs, an input of another type or shape than the graph declares, an operator or a form of one that the
// interpreter does not know, by the node's name).
Result<GraphOutputs> run_graph(const model_import::Graph& graph, const std::vector<Bytes>& inputs);

}  // namespace coterie
