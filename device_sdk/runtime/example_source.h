// ExampleSource: where training and evaluation get their examples, one at a time, by number.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace coterie {

// Implemented by the application (over its own store) and by the data set reader. Called on the thread that trains; the
// same index gives the same example as long as a Trainer or an Evaluator run lives.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  virtual uint64_t size() const = 0;
  // Writes example `index` (below size()): `features` in the model's input shape, NHWC, and its label: a class in
  // [0, classes), or any number for a regression. An error stops the step that asked; the step may be tried again.
  virtual Status read(uint64_t index, std::span<float> features, int32_t& label) = 0;
};

}  // namespace coterie
