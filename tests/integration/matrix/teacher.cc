#include "tests/integration/matrix/teacher.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"
#include "base/random.h"
#include "device_sdk/runtime/evaluator.h"
#include "proto/messages/model.h"

namespace coterie::integration {

Teacher::Teacher(const Model& model, uint64_t examples, uint64_t seed) : examples_(examples) {
  Prng prng(seed);
  for (size_t i = 0; i < model.graph().inputs.size(); ++i) {
    std::vector<float>& values = inputs_.emplace_back(examples * *element_count(model.input_shape(i)));
    const bool is_integer = model.input_type(i) == DataType::int32;
    for (float& value : values) {
      value = is_integer ? std::bit_cast<float>(static_cast<int32_t>(prng.below(kTokens)))
                         : static_cast<float>(2 * prng.uniform() - 1);
    }
  }
  const bool is_integer = model.input_type() == DataType::int32;
  const size_t first = inputs_[0].size() / examples;
  for (uint64_t i = 0; i < examples; ++i) {
    const float value = inputs_[0][i * first];
    labels_.push_back(is_integer ? std::bit_cast<int32_t>(value) == 0 : value < -0.6f);
  }
}

Status Teacher::read(uint64_t index, const Example& to) {
  for (size_t i = 0; i < to.input_count(); ++i) {
    const size_t count = to.features(i).size();
    std::memcpy(to.features(i).data(), inputs_[i].data() + index * count, count * sizeof(float));
  }
  std::ranges::fill(to.labels(), labels_[index]);
  return {};
}

Loss loss_for(const Model& model) {
  return model.output_shape().back() == 1 ? Loss::mean_squared_error : Loss::softmax_cross_entropy;
}

double loss_of(const Model& model, std::span<const float> parameters, Teacher& data) {
  auto evaluator = Evaluator::create(model, loss_for(model), 8);
  COT_ASSERT(evaluator.has_value());
  const auto evaluation = evaluator->run(parameters, data);
  COT_ASSERT(evaluation.has_value());
  return evaluation->loss_mean;
}

}  // namespace coterie::integration
