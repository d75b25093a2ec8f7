#include "tools/model/output_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device_sdk/runtime/predictor.h"
#include "tools/model/model_output.h"

namespace coterie {
namespace {

using model_import::WeightTable;
using model_import::WeightTensor;

constexpr uint64_t kExamplesMax = 1u << 20;

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

const WeightTensor* find(const WeightTable& arrays, const std::string& name) {
  const auto found = std::ranges::find(arrays.tensors, name, &WeightTensor::name);
  return found == arrays.tensors.end() ? nullptr : &*found;
}

// The elements with channels last, examples of `example` one behind the other.
Result<Words> words_of(const WeightTensor& array, const Shape& example, DataType type, bool was_channels_first,
                       uint64_t& count) {
  if (array.shape.empty() || array.shape[0] < 1 || array.shape[0] > static_cast<int64_t>(kExamplesMax)) {
    return Error(ErrorCode::invalid_argument, array.name + " needs its examples as the first dimension");
  }
  const Shape one(array.shape.begin() + 1, array.shape.end());
  const Shape first = example.size() == 3 ? Shape{example[2], example[0], example[1]} : example;
  const bool is_moved = example.size() == 3 && one == first && (one != example || was_channels_first);
  if (!is_moved && one != example) {
    return Error(ErrorCode::invalid_argument,
                 array.name + " has examples of " + shape_text(one) + ", expected " + shape_text(example));
  }
  if (count != 0 && count != static_cast<uint64_t>(array.shape[0])) {
    return Error(ErrorCode::invalid_argument, array.name + " has another number of examples than the others");
  }
  count = static_cast<uint64_t>(array.shape[0]);
  WeightTensor seen = array;
  if (is_moved) {
    // The same elements in another order: only the dimensions change places.
    seen.shape = {array.shape[0], array.shape[2], array.shape[3], array.shape[1]};
    seen.strides = {array.strides[0], array.strides[2], array.strides[3], array.strides[1]};
  }
  if (type == DataType::float32) return read_values(seen);
  COT_ASSIGN(const std::vector<int32_t> numbers, read_integers(seen));
  Words words(numbers.size());
  if (!words.empty()) std::memcpy(words.data(), numbers.data(), words.size() * sizeof(float));
  return words;
}

Result<Words> computed(const Model& model, const std::vector<Words>& inputs, uint64_t count) {
  const auto batch = static_cast<uint32_t>(std::min<uint64_t>(count, 32));
  COT_ASSIGN(Predictor predictor, Predictor::create(model, batch));
  const uint64_t width = elements(model.output_shape());
  Words outputs(count * width);
  for (uint64_t from = 0; from < count; from += batch) {
    const uint64_t size = std::min<uint64_t>(batch, count - from);
    std::vector<std::span<const float>> parts;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint64_t one = elements(model.input_shape(i));
      parts.push_back(std::span(inputs[i]).subspan(from * one, size * one));
    }
    COT_TRY(predictor.run(parts, size, std::span(outputs).subspan(from * width, size * width)));
  }
  return outputs;
}

double difference_of(const Words& seen, const Words& expected) {
  double largest = 1, apart = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(seen[i]) - static_cast<double>(expected[i]));
    if (std::isnan(difference)) return INFINITY;
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
    apart = std::max(apart, difference);
  }
  return apart / largest;
}

}  // namespace

Result<OutputCheck> check_outputs(const Model& model, const WeightTable& arrays) {
  const ModelGraph& graph = model.graph();
  std::vector<Words> inputs;
  uint64_t count = 0;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string& name = graph.tensors[graph.inputs[i]].name;
    const WeightTensor* array = find(arrays, name);
    if (array == nullptr) array = find(arrays, "input_" + std::to_string(i));
    if (array == nullptr && graph.inputs.size() == 1) array = find(arrays, "input");
    if (array == nullptr) {
      return Error(ErrorCode::invalid_argument, "has no array " + name + " (or input_" + std::to_string(i) + ")");
    }
    COT_ASSIGN(Words words,
               words_of(*array, model.input_shape(i), model.input_type(i), lies_nhwc(model, "input_layout", i), count));
    inputs.push_back(std::move(words));
  }
  const WeightTensor* const output = find(arrays, "output");
  if (output == nullptr) return Error(ErrorCode::invalid_argument, "has no array output, which says what is expected");
  COT_ASSIGN(const Words expected,
             words_of(*output, model.output_shape(), DataType::float32, lies_nhwc(model, "output_layout", 0), count));
  COT_ASSIGN(const Words seen, computed(model, inputs, count));
  return OutputCheck{count, difference_of(seen, expected)};
}

Result<OutputCheck> compare_on_random_inputs(const Model& model, const Model& other, uint32_t examples) {
  const std::vector<Words> inputs = random_words(model, examples);
  COT_ASSIGN(const Words seen, computed(model, inputs, examples));
  COT_ASSIGN(const Words expected, computed(other, inputs, examples));
  return OutputCheck{examples, difference_of(seen, expected)};
}

}  // namespace coterie
