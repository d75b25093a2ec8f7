// What a model computes on its way: the values of one tensor, over examples.
#pragma once

#include <functional>
#include <span>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// Some whole examples' values of the tensor, one behind the other; in the order of the examples.
using ActivationSink = std::function<void(std::span<const float> values)>;

// The values of `tensor` (an input of the model, or what an op writes) for all examples. An example has
// `target_elements` targets, which are not looked at. Errors: those of the source; invalid_argument (no examples);
// malformed (what leads to the tensor is no model by itself: its first dimension is not the batch).
Status for_each_activation(const Model& model, uint32_t tensor, ExampleSource& examples, uint64_t target_elements,
                           const ActivationSink& sink);

// The same examples' values of the tensor in two models of one structure, whose inputs are the same.
using ActivationPairSink = std::function<void(std::span<const float> first, std::span<const float> second)>;
// As for_each_activation of both at once. Precondition: the models have one graph, and other parameters perhaps.
Status for_each_activation_pair(const Model& first, const Model& second, uint32_t tensor, ExampleSource& examples,
                                uint64_t target_elements, const ActivationPairSink& sink);

}  // namespace coterie
