// A model made anew of a graph from which ops were taken.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device_sdk/runtime/model.h"

namespace coterie {

// The model of `graph`, whose payload is `parameters`: without the tensors that no op reads or writes (but its inputs),
// and its payload laid out again. Sealed. `moved_to`, if it is asked for, gets the number in the new graph of each
// tensor of the old one, or kNoTensor. Errors: those of Model::load.
Result<Model> rebuild_model(ModelGraph graph, std::span<const float> parameters,
                            std::vector<uint32_t>* moved_to = nullptr);

}  // namespace coterie
