// The part of a model that ends with one of its tensors.
#pragma once

#include <cstdint>
#include <string_view>

#include "device_sdk/runtime/model.h"

namespace coterie {

// Whether a value depends on the examples: the model's input, or what an op writes.
bool is_activation(const ModelGraph& graph, uint32_t tensor);

// The activation of this name. invalid_argument: there is none.
Result<uint32_t> find_activation(const ModelGraph& graph, std::string_view name);

// The model whose output is `tensor`, which an op writes, without the ops that it does not need. Inputs stay, so that
// examples fit. Errors: those of Model::load (its first dimension is not the batch).
Result<Model> model_ending_with(const Model& model, uint32_t tensor);
// A model of several outputs, as it answers its own alone: without the ops that only the others need. Another model is
// as it was. Errors: as above.
Result<Model> with_own_output(Model model);

}  // namespace coterie
