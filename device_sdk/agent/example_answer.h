// What a model's answer to one example is worth: of an evaluation, and of one whose columns are permuted.
#pragma once

#include <cstdint>
#include <span>

namespace coterie {

struct ExampleAnswer {
  uint32_t predicted = 0;  // as many as there are classes: none, as an output is not finite
  double loss = 0;         // cross-entropy, in [0, kLossMax]; kLossMax without an answer
};

// `output`: logits or log-probabilities, one a class. Writes the classes' probabilities; zeros without an answer.
// Precondition: the label is a class, and `shares` has room for each.
ExampleAnswer answer_of(std::span<const float> output, uint32_t label, std::span<double> shares);

}  // namespace coterie
