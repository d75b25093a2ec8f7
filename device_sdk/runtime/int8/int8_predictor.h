// Int8Predictor: what a network that computes in int8 says of examples.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/int8/int8_program.h"

namespace coterie {

// Not thread-safe. Allocates when it is made alone.
class Int8Predictor {
 public:
  // The program must outlive it.
  explicit Int8Predictor(const Int8Program& program);

  uint64_t input_elements() const { return program_.values[0].elements; }
  uint64_t output_elements() const { return program_.values[program_.output].elements; }

  // `input` has `count` examples of the program's input shape one behind the other, `output` gets as many of its
  // output. The same bits on every machine, whatever the calling thread does with denormal numbers. Errors:
  // invalid_argument (a size is wrong).
  Status run(std::span<const float> input, uint64_t count, std::span<float> output);

  // What the last example of the last run had there.
  std::span<const int8_t> value(uint32_t index) const { return values_[index]; }

 private:
  void run_step(const Int8Step& step);

  const Int8Program& program_;
  std::vector<std::vector<int8_t>> values_;
};

}  // namespace coterie
