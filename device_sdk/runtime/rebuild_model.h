// A model made anew of a graph from which ops were taken.
#pragma once

#include <span>

#include "device_sdk/runtime/model.h"

namespace coterie {

// The model of `graph`, whose payload is `parameters`: without the tensors that no op reads or writes (but its inputs),
// and its payload laid out again. Sealed. Errors: those of Model::load.
Result<Model> rebuild_model(ModelGraph graph, std::span<const float> parameters);

}  // namespace coterie
