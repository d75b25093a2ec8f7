#include "tools/model/tflite_conversion.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "model_import/tflite_reference/run_tflite.h"
#include "tools/model/conversion_check.h"
#include "tools/model/model_output.h"

namespace coterie {
namespace {

using namespace model_import;

Result<TfliteArray> random_array(const TfliteTensor& tensor, Prng& chance) {
  COT_ASSIGN(TfliteArray array, zeros_of(tensor));
  for (double& real : array.reals) real = static_cast<double>(static_cast<float>(chance.uniform(-1, 1)));
  const IntegerRange range = range_of(tensor.type);
  const auto places = static_cast<uint64_t>(range.high - range.low) + 1;
  for (int64_t& integer : array.integers) {
    // Integers without a grid are indices or flags: 0 and 1.
    integer = tensor.grid.is_given() ? range.low + static_cast<int64_t>(chance.below(places))
                                     : static_cast<int64_t>(chance.below(2));
  }
  return array;
}

// As the model reads it: floats, or the bytes of int32.
Words words_of(const TfliteTensor& tensor, const TfliteArray& array) {
  Words words;
  for (const double real : real_numbers(tensor, array)) {
    if (is_real(tensor.type) || tensor.grid.is_given()) {
      words.push_back(static_cast<float>(real));
      continue;
    }
    const auto integer = static_cast<int32_t>(real);
    float word;
    std::memcpy(&word, &integer, sizeof(word));
    words.push_back(word);
  }
  return words;
}

Result<Words> answered(const std::variant<const Model*, const Int8Model*>& model, const std::vector<Words>& inputs,
                       uint32_t batch) {
  const auto other = [] { return Error(ErrorCode::invalid_argument, "the model has other sizes than the file shows"); };
  if (const auto* floats = std::get_if<const Model*>(&model)) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i >= (*floats)->graph().inputs.size() || inputs[i].size() != batch * elements((*floats)->input_shape(i)))
        return other();
    }
    return computed_output(**floats, inputs, batch, kernels::kernels());
  }
  Int8Predictor predictor(std::get<const Int8Model*>(model)->program);
  if (inputs.size() != 1 || inputs[0].size() != batch * predictor.input_elements()) return other();
  Words words(batch * predictor.output_elements());
  COT_TRY(predictor.run(inputs[0], batch, words));
  return words;
}

}  // namespace

Result<TfliteConversion> check_tflite_conversion(const TfliteModel& file, const std::string& output,
                                                 const std::variant<const Model*, const Int8Model*>& model) {
  const auto found =
      std::ranges::find_if(file.outputs, [&](int32_t i) { return output.empty() || file.tensor(i).name == output; });
  if (found == file.outputs.end()) return Error(ErrorCode::invalid_argument, "the file has no output " + output);
  const TfliteTensor& answer = file.tensor(*found);
  const Shape& first = file.tensor(file.inputs.at(0)).shape;
  const auto batch = static_cast<uint32_t>(first.empty() ? 1 : first[0]);
  TfliteConversion result;
  if (answer.grid.is_given() && !is_real(answer.type)) result.step = static_cast<double>(answer.grid.scales[0]);
  for (uint64_t trial = 0; trial < kTfliteTrials; ++trial) {
    Prng chance(trial + 1);
    std::vector<TfliteArray> inputs;
    std::vector<Words> words;
    for (const int32_t i : file.inputs) {
      COT_ASSIGN(TfliteArray array, random_array(file.tensor(i), chance));
      words.push_back(words_of(file.tensor(i), array));
      inputs.push_back(std::move(array));
    }
    COT_ASSIGN(const std::vector<TfliteArray> outputs, run_tflite(file, inputs));
    const TfliteArray& seen = outputs[static_cast<size_t>(found - file.outputs.begin())];
    const std::vector<double> should = real_numbers(answer, seen);
    COT_ASSIGN(const Words is, answered(model, words, batch));
    if (is.size() != should.size()) {
      return Error(ErrorCode::invalid_argument, "the model has other sizes than the file shows");
    }
    result.examples += batch;
    result.numbers += is.size();
    double value = 0;
    for (const double each : should) value = std::max(value, std::fabs(each));
    result.value = std::max(result.value, value);
    const bool goes_on = result.step > 0 && std::holds_alternative<const Model*>(model);
    const IntegerRange range = range_of(answer.type);
    for (size_t i = 0; i < is.size(); ++i) {
      if (goes_on && (seen.integers[i] == range.low || seen.integers[i] == range.high)) {
        ++result.ends;
        continue;
      }
      const double apart = std::fabs(static_cast<double>(is[i]) - should[i]);
      result.largest = std::isnan(apart) ? HUGE_VAL : std::max(result.largest, apart);
      if (!(apart <= (result.step > 0 ? 1.001 * result.step : kAbsoluteMax + kRelativeMax * value))) ++result.apart;
    }
  }
  return result;
}

}  // namespace coterie
