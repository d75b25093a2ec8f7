#include "device_sdk/runtime/int8/int8_predictor.h"

#include "device_sdk/runtime/flush_denormals.h"

namespace coterie {

using kernels::Conv2dShape;
using kernels::DenseShape;
using kernels::Pool2dShape;

Int8Predictor::Int8Predictor(const Int8Program& program) : program_(program) {
  for (const Int8Value& value : program.values) values_.emplace_back(value.elements);
}

void Int8Predictor::run_step(const Int8Step& step) {
  const int8_t* const x = values_[step.inputs[0]].data();
  const int8_t zero = program_.zero_of(step.inputs[0]);
  std::vector<int8_t>& y = values_[step.output];
  switch (step.kind) {
    case Int8Kind::dense:
      kernels::int8::dense(std::get<DenseShape>(step.shape), step.weighted(zero), x, y.data());
      return;
    case Int8Kind::conv2d:
      kernels::int8::conv2d(std::get<Conv2dShape>(step.shape), step.weighted(zero), x, y.data());
      return;
    case Int8Kind::max_pool2d: kernels::int8::max_pool2d(std::get<Pool2dShape>(step.shape), x, y.data()); return;
    case Int8Kind::average_pool2d:
      kernels::int8::average_pool2d(std::get<Pool2dShape>(step.shape), zero, step.multipliers[0], step.to, x, y.data());
      return;
    case Int8Kind::add:
      kernels::int8::add(y.size(), {x, zero, step.multipliers[0]},
                         {values_[step.inputs[1]].data(), program_.zero_of(step.inputs[1]), step.multipliers[1]},
                         step.to, y.data());
      return;
    case Int8Kind::clamp: kernels::int8::clamp(y.size(), step.to.low, step.to.high, x, y.data()); return;
  }
}

Status Int8Predictor::run(std::span<const float> input, uint64_t count, std::span<float> output) {
  if (input.size() != count * input_elements() || output.size() != count * output_elements()) {
    return Error(ErrorCode::invalid_argument, "an example has " + std::to_string(input_elements()) + " inputs and " +
                                                  std::to_string(output_elements()) +
                                                  " outputs; the sizes do not fit " + std::to_string(count));
  }
  const KeepDenormals exact;
  for (uint64_t i = 0; i < count; ++i) {
    kernels::int8::quantise(program_.values[0].grid, input_elements(), input.data() + i * input_elements(),
                            values_[0].data());
    for (const Int8Step& step : program_.steps) run_step(step);
    float* const y = output.data() + i * output_elements();
    kernels::int8::dequantise(program_.values[program_.output].grid, output_elements(), values_[program_.output].data(),
                              y);
    if (program_.has_softmax) kernels::int8::softmax(output_elements(), y, y);
  }
  return {};
}

}  // namespace coterie
