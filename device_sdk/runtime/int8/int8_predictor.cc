#include "device_sdk/runtime/int8/int8_predictor.h"

#include <limits>
#include <string>

#include "device_sdk/runtime/flush_denormals.h"
#include "train_kernels/int8/elements.h"

namespace coterie {

using kernels::Conv2dShape;
using kernels::DenseShape;
using kernels::Pool2dShape;
using kernels::int8::Adder;
using kernels::int8::PreparedLayer;

Int8Predictor::Int8Predictor(const Int8Program& program, Adder adder)
    : Int8Predictor(program, adder, std::numeric_limits<uint64_t>::max()) {}

Result<Int8Predictor> Int8Predictor::create(const Int8Program& program, uint64_t bytes_max, Adder adder) {
  Int8Predictor predictor(program, adder, bytes_max);
  if (predictor.bytes_ <= bytes_max) return predictor;
  return Error(ErrorCode::too_large, "the values and weights of a model that computes in int8 need more than " +
                                         std::to_string(bytes_max) + " bytes");
}

Int8Predictor::Int8Predictor(const Int8Program& program, Adder adder, uint64_t bytes_max)
    : program_(program), adder_(adder) {
  for (const Int8Value& value : program.values) bytes_ += value.elements;
  if (bytes_ > bytes_max) return;
  for (const Int8Value& value : program.values) values_.emplace_back(value.elements);
  for (const Int8Step& step : program.steps) {
    prepare(step);
    if (prepared_.back()) bytes_ += prepared_.back()->bytes();
    if (bytes_ > bytes_max) return;
  }
}

void Int8Predictor::prepare(const Int8Step& step) {
  auto& prepared = prepared_.emplace_back();
  if (adder_ == Adder::reference) return;
  const kernels::int8::Weighted layer = step.weighted(program_.zero_of(step.inputs[0]));
  if (const auto* dense = std::get_if<DenseShape>(&step.shape)) {
    const Conv2dShape pixels = PreparedLayer::as_convolution(*dense);
    if (PreparedLayer::can(pixels)) prepared.emplace(adder_, pixels, layer);
  }
  if (const auto* conv = std::get_if<Conv2dShape>(&step.shape); conv != nullptr && PreparedLayer::can(*conv)) {
    prepared.emplace(adder_, *conv, layer);
  }
}

void Int8Predictor::run_step(size_t index) {
  const Int8Step& step = program_.steps[index];
  const int8_t* const x = values_[step.inputs[0]].data();
  const int8_t zero = program_.zero_of(step.inputs[0]);
  std::vector<int8_t>& y = values_[step.output];
  if (prepared_[index]) {
    prepared_[index]->run(x, y.data());
    return;
  }
  switch (step.kind) {
    case Int8Kind::dense:
      kernels::int8::dense(std::get<DenseShape>(step.shape), step.weighted(zero), x, y.data());
      return;
    case Int8Kind::conv2d:
      kernels::int8::conv2d(std::get<Conv2dShape>(step.shape), step.weighted(zero), x, y.data());
      return;
    case Int8Kind::max_pool2d:
      kernels::int8::max_pool2d(adder_, std::get<Pool2dShape>(step.shape), x, y.data());
      return;
    case Int8Kind::average_pool2d:
      kernels::int8::average_pool2d(adder_, std::get<Pool2dShape>(step.shape), zero, step.multipliers[0], step.to, x,
                                    y.data());
      return;
    case Int8Kind::add:
      kernels::int8::add(adder_, y.size(), {x, zero, step.multipliers[0]},
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
    kernels::int8::quantise(adder_, program_.values[0].grid, input_elements(), input.data() + i * input_elements(),
                            values_[0].data());
    for (size_t k = 0; k < program_.steps.size(); ++k) run_step(k);
    float* const y = output.data() + i * output_elements();
    kernels::int8::dequantise(adder_, program_.values[program_.output].grid, output_elements(),
                              values_[program_.output].data(), y);
    if (program_.has_softmax) kernels::int8::softmax(output_elements(), y, y);
  }
  return {};
}

}  // namespace coterie
