#include "tools/model/int8_compensation.h"

#include <algorithm>
#include <optional>

#include "device_sdk/runtime/int8/int8_predictor.h"
#include "tools/model/compensated_rounding.h"
#include "tools/model/partial_model.h"
#include "tools/model/rounded_model.h"

namespace coterie {
namespace {

// A value of the int8 network, example by example, as the real numbers that its integers stand for.
class Int8Values {
 public:
  Int8Values(const Int8Program& program, uint32_t value, ExampleSource& examples, uint64_t target_elements)
      : predictor_(program),
        grid_(program.values[value].grid),
        value_(value),
        examples_(examples),
        input_(predictor_.input_elements()),
        output_(predictor_.output_elements()),
        target_(target_elements),
        real_(program.values[value].elements) {}

  Result<std::span<const float>> next() {
    const Example::Place place(input_);
    COT_TRY(examples_.read(next_++, Example({&place, 1}, target_)));
    COT_TRY(predictor_.run(input_, 1, output_));
    std::ranges::transform(predictor_.value(value_), real_.begin(),
                           [&](int8_t integer) { return grid_.scale * static_cast<float>(integer - grid_.zero); });
    return std::span<const float>(real_);
  }

 private:
  Int8Predictor predictor_;
  kernels::int8::Grid grid_;
  uint32_t value_;
  ExampleSource& examples_;
  uint64_t next_ = 0;
  std::vector<float> input_, output_, target_, real_;
};

// None: the layer's inputs cannot be looked at.
Result<std::optional<InputMoments>> int8_moments(const Int8Program& program, uint32_t value, const Model& exact,
                                                 const OpInfo& op, ExampleSource& examples, uint64_t target_elements) {
  std::optional<MomentSums> sums = MomentSums::create(exact, op, examples.size());
  if (!sums) return std::optional<InputMoments>();
  Int8Values rounded(program, value, examples, target_elements);
  const size_t of_an_example = program.values[value].elements;
  Status read = {};
  const Status ran =
      for_each_activation(exact, op.inputs[0], examples, target_elements, [&](std::span<const float> values) {
        for (; read && !values.empty(); values = values.subspan(of_an_example)) {
          const auto now = rounded.next();
          if (now) sums->add(*now, values.first(of_an_example));
          else read = now.error();
        }
      });
  if (!ran && ran.error().code() == ErrorCode::malformed) return std::optional<InputMoments>();
  if (!ran) return ran.error();
  if (!read) return read.error();
  return std::optional(sums->moments());
}

std::span<const float> values_in(const Model& model, uint32_t tensor) {
  const TensorInfo& info = model.graph().tensors[tensor];
  return model.parameters().subspan(info.payload_offset / sizeof(float), elements(info.shape));
}

// The layer of `choice` that `op` computes in the float32 model, by these moments.
Status compensate_layer(Int8Choice& choice, const Model& exact, const OpInfo& op, const InputMoments& moments) {
  const uint32_t weight = op.inputs[1];
  size_t i = 0;
  while (choice.weight_tensor(i) != weight) ++i;
  const OpInfo* const biased = biased_reader(exact.graph(), weight);
  choice.compensate_weight(i, biased != nullptr ? centred(moments) : moments);
  if (biased == nullptr) return {};
  const std::vector<Int8Weights> all = choice.bounded_weights();
  const auto tensor_of = [](const Int8Weights& each) { return each.form.tensor; };
  const std::vector<float> rounded =
      from_int8(*std::ranges::find(all, weight, tensor_of), exact.graph().tensors[weight].shape);
  const std::vector<double> shortfall = mean_shortfall(values_in(exact, weight), rounded, moments);
  std::vector<float> bias;
  for (const float before : values_in(exact, biased->inputs[2])) {
    bias.push_back(static_cast<float>(static_cast<double>(before) + shortfall[bias.size()]));
  }
  return choice.correct_bias(i, bias);
}

}  // namespace

Result<Int8Choice> int8_compensated(Int8Choice choice, const Model& exact, ExampleSource& examples,
                                    uint64_t target_elements) {
  COT_ASSIGN(Int8Program program, choice.program());
  const std::vector<Int8Layer> layers = choice.layers().layers;
  for (size_t at = 0; at < layers.size(); ++at) {
    const OpInfo* const op = layers[at].is_weighted() ? sole_reader(exact.graph(), layers[at].weight) : nullptr;
    if (op == nullptr) continue;
    COT_ASSIGN(const auto moments,
               int8_moments(program, program.steps[at].inputs[0], exact, *op, examples, target_elements));
    if (!moments) continue;
    Int8Choice other = choice;
    COT_TRY(compensate_layer(other, exact, *op, *moments));
    Result<Int8Program> next = other.program();
    if (!next) continue;
    choice = std::move(other);
    program = std::move(*next);
  }
  return choice;
}

}  // namespace coterie
