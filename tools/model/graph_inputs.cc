#include "tools/model/graph_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text/suggest.h"
#include "model_import/convert/permitted_name.h"
#include "tools/compare_tensors/axis_order.h"
#include "tools/model/inspect.h"

namespace coterie {
namespace {

using model_import::Array;
using model_import::Arrays;
using model_import::Element;
using model_import::Graph;
using model_import::GraphValue;

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

std::string listed_or_none(const std::vector<std::string>& names) { return names.empty() ? "none" : listed(names); }

Error other_inputs(const std::vector<std::string>& names, const GivenInputs& given) {
  std::vector<std::string> seen;
  for (const auto& [name, array] : given) seen.push_back(name.empty() ? "one without a name" : name);
  return bad("takes other inputs than are given; taken: " + listed_or_none(names) + "; given: " + listed_or_none(seen));
}

// In the order of `names`.
Result<std::vector<const Array*>> ordered(const std::vector<std::string>& names, const GivenInputs& given) {
  std::vector<const Array*> arrays;
  for (const std::string& name : names) {
    const auto found = std::ranges::find_if(given, [&](const auto& entry) {
      return entry.first == name || model_import::permitted_name(entry.first) == name;
    });
    if (found != given.end()) arrays.push_back(&found->second);
  }
  if (arrays.size() == names.size()) return arrays;
  if (given.size() != names.size()) return other_inputs(names, given);
  arrays.clear();
  for (const auto& [name, array] : given) arrays.push_back(&array);
  return arrays;
}

Array moved(const Array& array, AxisOrder order) {
  Array to = array;
  to.shape = coterie::moved(array.shape, order);
  to.values = coterie::moved(array.values, array.shape, order);
  return to;
}

Status become(Array& array, Element element) {
  if (array.element == element) return {};
  const double low = element == Element::integer ? -std::ldexp(1.0, 53) : 0,
               high = element == Element::integer ? -low : 1;
  for (const double value : array.values) {
    if (element == Element::real || (value == std::trunc(value) && value >= low && value <= high)) continue;
    return bad("has a number that is no " + std::string(element == Element::integer ? "whole one" : "truth value"));
  }
  array.element = element;
  return {};
}

bool is_declared(const Shape& shape, const GraphValue& value) {
  if (value.shape.empty()) return true;  // a scalar, or not said
  return std::ranges::equal(shape, value.shape, [](int64_t size, const model_import::Dimension& dimension) {
    return dimension.value == 0 || dimension.value == size;
  });
}

std::string declared_text(const GraphValue& value) {
  std::string text;
  for (const model_import::Dimension& dimension : value.shape)
    text += (text.empty() ? "" : "x") + (dimension.value == 0 ? dimension.symbol : std::to_string(dimension.value));
  return text;
}

Result<Array> input_for(const GraphValue& value, const Array& given) {
  if (value.form != model_import::Form::tensor) return bad("is no tensor of numbers in the graph");
  for (const AxisOrder order : {AxisOrder::same, AxisOrder::channels_last, AxisOrder::channels_first}) {
    if (!is_declared(moved(given.shape, order), value)) continue;
    Array array = moved(given, order);
    COT_TRY(become(array, value.element));
    return array;
  }
  return bad("has shape " + shape_text(given.shape) + ", the graph declares " + declared_text(value));
}

Result<Words> words_for(const Model& model, size_t i, const Array& given, int64_t examples) {
  Shape shape = model.input_shape(i);
  shape.insert(shape.begin(), examples);
  std::vector<AxisOrder> orders = fitting_orders(given.shape, shape);
  if (orders.empty()) return bad("has shape " + shape_text(given.shape) + ", the model takes " + shape_text(shape));
  // Where sizes do not tell, the model does: what it was made of has its channels first.
  const bool is_last = lies_nhwc(model, "input_layout", i) && std::ranges::count(orders, AxisOrder::channels_last) > 0;
  Array array = moved(given, is_last ? AxisOrder::channels_last : orders.front());
  const bool is_real = model.input_type(i) == DataType::float32;
  COT_TRY(become(array, is_real ? Element::real : Element::integer));
  Words words;
  for (const double value : array.values) {
    float& word = words.emplace_back(static_cast<float>(value));
    if (is_real) continue;
    if (std::fabs(value) > static_cast<double>(std::numeric_limits<int32_t>::max())) return bad("has no 32 bit number");
    const auto index = static_cast<int32_t>(value);
    std::memcpy(&word, &index, sizeof index);
  }
  return words;
}

}  // namespace

Result<Arrays> inputs_for(const Graph& graph, const GivenInputs& given) {
  std::vector<std::string> names;
  for (const GraphValue& input : graph.inputs) names.push_back(input.name);
  COT_ASSIGN(const std::vector<const Array*> arrays, ordered(names, given));
  Arrays inputs;
  for (size_t i = 0; i < names.size(); ++i) {
    Result<Array> input = input_for(graph.inputs[i], *arrays[i]);
    if (!input) return input.error().with_context("input " + names[i]);
    inputs[names[i]] = std::move(*input);
  }
  return inputs;
}

Result<ModelInputs> inputs_for(const Model& model, const GivenInputs& given) {
  std::vector<std::string> names;
  for (const uint32_t input : model.graph().inputs) names.push_back(model.graph().tensors[input].name);
  COT_ASSIGN(const std::vector<const Array*> arrays, ordered(names, given));
  ModelInputs inputs;
  for (size_t i = 0; i < names.size(); ++i) {
    const int64_t examples = arrays[i]->shape.empty() ? 0 : arrays[i]->shape[0];
    if (examples < 1 || examples > kGivenExamplesMax || (i > 0 && examples != inputs.examples)) {
      return bad("input " + names[i] + " has " + std::to_string(examples) + " examples");
    }
    inputs.examples = static_cast<uint32_t>(examples);
    Result<Words> words = words_for(model, i, *arrays[i], examples);
    if (!words) return words.error().with_context("input " + names[i]);
    inputs.words.push_back(std::move(*words));
  }
  return inputs;
}

}  // namespace coterie
