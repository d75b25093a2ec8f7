// What a network that computes in int8 says of examples, where float32 models are measured: the same measures, the same
// code.
#pragma once

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// The examples of another source with the network's outputs as their inputs; targets stay. Program and source must
// outlive it.
class Int8Outputs final : public ExampleSource {
 public:
  Int8Outputs(const Int8Program& program, ExampleSource& source);
  uint64_t size() const override { return source_.size(); }
  Status read(uint64_t index, const Example& to) override;

 private:
  Int8Predictor predictor_;
  ExampleSource& source_;
  std::vector<float> input_;
};

// A model that answers with its input: whoever measures or prints a model's outputs gets those of Int8Outputs.
Result<Model> passing_model(const Shape& output_shape);

}  // namespace coterie
