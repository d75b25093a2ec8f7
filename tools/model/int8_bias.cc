#include "tools/model/int8_bias.h"

#include <algorithm>

#include "device_sdk/runtime/int8/int8_predictor.h"
#include "tools/model/mean_activation.h"
#include "tools/model/rounded_model.h"

namespace coterie {
namespace {

// The mean of each of `width` lanes of a value of the network, as the real numbers that its integers stand for.
Result<std::vector<double>> int8_means(const Int8Program& program, uint32_t value, size_t width,
                                       ExampleSource& examples, uint64_t target_elements) {
  Int8Predictor predictor(program);
  std::vector<float> input(predictor.input_elements()), output(predictor.output_elements()), target(target_elements);
  const Example::Place place(input);
  std::vector<int64_t> sums(width);
  for (uint64_t example = 0; example < examples.size(); ++example) {
    COT_TRY(examples.read(example, Example({&place, 1}, target)));
    COT_TRY(predictor.run(input, 1, output));
    const std::span<const int8_t> found = predictor.value(value);
    for (size_t e = 0; e < found.size(); ++e) sums[e % width] += found[e];
  }
  const kernels::int8::Grid& grid = program.values[value].grid;
  const auto rows = static_cast<double>(examples.size() * program.values[value].elements / width);
  std::vector<double> means;
  for (const int64_t sum : sums) {
    means.push_back(static_cast<double>(grid.scale) * (static_cast<double>(sum) / rows - grid.zero));
  }
  return means;
}

}  // namespace

Result<std::optional<std::vector<float>>> int8_corrected_bias(const Int8Choice& choice, size_t i, const Model& exact,
                                                              ExampleSource& examples, uint64_t target_elements) {
  const uint32_t weight = choice.weight_tensor(i);
  const OpInfo* const op = biased_reader(exact.graph(), weight);
  if (op == nullptr) return std::optional<std::vector<float>>();
  const auto exact_means = mean_activation(exact, op->inputs[0], examples, target_elements);
  if (!exact_means && exact_means.error().code() == ErrorCode::malformed) return std::optional<std::vector<float>>();
  if (!exact_means) return exact_means.error();

  COT_ASSIGN(const Int8Program program, choice.program());
  const auto layer = std::ranges::find(choice.layers().layers, weight, &Int8Layer::weight);
  const Int8Step& step = program.steps[static_cast<size_t>(layer - choice.layers().layers.begin())];
  COT_ASSIGN(const std::vector<double> means,
             int8_means(program, step.inputs[0], exact_means->size(), examples, target_elements));
  const std::vector<Int8Weights> all = choice.bounded_weights();
  const auto tensor_of = [](const Int8Weights& each) { return each.form.tensor; };
  const Shape& shape = exact.graph().tensors[weight].shape;
  const std::vector<float> rounded = from_int8(*std::ranges::find(all, weight, tensor_of), shape);

  const TensorInfo& bias = exact.graph().tensors[op->inputs[2]];
  const auto rows = static_cast<size_t>(*(shape.end() - 2)), outputs = static_cast<size_t>(shape.back());
  const auto real = exact.parameters();
  const std::vector<double> was = mean_sums(real.subspan(exact.graph().tensors[weight].payload_offset / sizeof(float),
                                                         rounded.size()),
                                            rows, outputs, *exact_means),
                            is = mean_sums(rounded, rows, outputs, means);
  std::vector<float> corrected;
  for (size_t o = 0; o < outputs; ++o) {
    const float before = real[bias.payload_offset / sizeof(float) + o];
    corrected.push_back(static_cast<float>(static_cast<double>(before) + was[o] - is[o]));
  }
  return std::optional(std::move(corrected));
}

}  // namespace coterie
