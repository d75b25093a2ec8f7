// Teacher: examples for any model: random inputs, and for each row of its output a class that depends on the input and
// is mostly the first. So every network of the matrix has something to learn, whatever its inputs and outputs are.
#pragma once

#include <cstdint>
#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"
#include "proto/messages/plan.h"

namespace coterie::integration {

// Data of one device, or the held-out data: the same seed gives the same examples. Integer inputs are below kTokens, so
// that they fit every embedding here. Reading is thread-safe.
class Teacher : public ExampleSource {
 public:
  static constexpr uint32_t kTokens = 7;

  Teacher(const Model& model, uint64_t examples, uint64_t seed);

  uint64_t size() const override { return examples_; }
  Status read(uint64_t index, const Example& to) override;

 private:
  uint64_t examples_;
  std::vector<std::vector<float>> inputs_;  // of each input of the model, one example behind the other; bytes of int32
  std::vector<int32_t> labels_;             // of each example, whatever row
};

// What jobs train such a model for: classes by cross-entropy, and one number by its square.
Loss loss_for(const Model& model);

// The mean loss of these parameters on the data.
double loss_of(const Model& model, std::span<const float> parameters, Teacher& data);

}  // namespace coterie::integration
