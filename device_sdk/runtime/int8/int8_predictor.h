// Int8Predictor: what a network that computes in int8 says of examples.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/int8/int8_program.h"
#include "train_kernels/int8/prepared_layer.h"

namespace coterie {

// Not thread-safe. Allocates when it is made alone.
class Int8Predictor {
 public:
  // The program must outlive it. Any adder that this CPU has gives the same bits.
  explicit Int8Predictor(const Int8Program& program, kernels::int8::Adder adder = kernels::int8::fastest_adder());
  // One that holds so many bytes at most. too_large, before more than one layer's are allocated beyond them.
  static Result<Int8Predictor> create(const Int8Program& program, uint64_t bytes_max,
                                      kernels::int8::Adder adder = kernels::int8::fastest_adder());

  uint64_t bytes() const { return bytes_; }  // that it holds: values, and weights as the adder reads them
  uint64_t input_elements() const { return program_.values[0].elements; }
  uint64_t output_elements() const { return program_.values[program_.output].elements; }

  // `input` has `count` examples of the program's input shape one behind the other, `output` gets as many of its
  // output. The same bits on every machine, whatever the calling thread does with denormal numbers. Errors:
  // invalid_argument (a size is wrong).
  Status run(std::span<const float> input, uint64_t count, std::span<float> output);

  // What the last example of the last run had there.
  std::span<const int8_t> value(uint32_t index) const { return values_[index]; }

 private:
  Int8Predictor(const Int8Program& program, kernels::int8::Adder adder, uint64_t bytes_max);
  void prepare(const Int8Step& step);
  void run_step(size_t index);

  const Int8Program& program_;
  kernels::int8::Adder adder_;
  uint64_t bytes_ = 0;  // more than it was allowed: it is not whole
  std::vector<std::vector<int8_t>> values_;
  std::vector<std::optional<kernels::int8::PreparedLayer>> prepared_;  // of each step, where it can be
};

}  // namespace coterie
