// What a model answers beside its own output: further tensors of its graph, named by the properties "output.1",
// "output.2" and so on. A reader that does not know them computes the model's own output, as of any other file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

inline constexpr size_t kModelOutputsMax = 16;  // its own with them

// The model's own output, then those of its properties in their order. malformed: a number is missing or above
// kModelOutputsMax - 1, or a property names what is no op's output, two tensors, or an output that there is already.
Result<std::vector<uint32_t>> graph_outputs(const ModelGraph& graph);
// The same without its own, of a graph that was checked; of another none.
std::vector<uint32_t> further_outputs(const ModelGraph& graph);
// Makes these the outputs, the first one the model's own. Precondition: 1 to kModelOutputsMax activations.
void set_graph_outputs(ModelGraph& graph, std::span<const uint32_t> outputs);

}  // namespace coterie
