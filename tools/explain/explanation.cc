#include "tools/explain/explanation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

namespace coterie {
namespace {

Error not_finite(uint64_t example, std::string_view method, const std::string& what) {
  return Error(ErrorCode::invalid_argument,
               "example " + std::to_string(example) + ", method " + std::string(method) + ": " + what);
}

}  // namespace

Result<Explanation> explain(AskedModel& model, ExampleSource& examples, uint64_t target_elements, uint64_t example,
                            std::optional<uint32_t> picked, const AttributionMethod& method,
                            const AttributionSettings& settings) {
  if (example >= examples.size()) {
    return Error(ErrorCode::invalid_argument, "there is no example " + std::to_string(example) + ": the data has " +
                                                  std::to_string(examples.size()) + ", counted from 0");
  }
  if (picked && *picked >= model.outputs()) {
    return Error(ErrorCode::invalid_argument, "there is no class " + std::to_string(*picked) + ": the model has " +
                                                  std::to_string(model.outputs()) + " outputs, counted from 0");
  }
  Explanation made{.example = example,
                   .input = std::vector<float>(model.input_size()),
                   .target = std::vector<float>(target_elements)};
  const Example::Place place = made.input;
  COT_TRY(examples.read(example, Example(std::span(&place, 1), made.target)));
  COT_ASSIGN(const std::vector<float> answers, model.answers(made.input));
  // None of the scores is the highest where one is NaN.
  if (std::ranges::any_of(answers, [](float answer) { return std::isnan(answer); })) {
    return not_finite(example, method.name, "the model's output is no number");
  }
  made.predicted = static_cast<uint32_t>(std::ranges::max_element(answers) - answers.begin());
  made.picked = picked.value_or(made.predicted);
  made.score = static_cast<double>(answers[made.picked]);
  COT_ASSIGN(made.attribution, method.attribute(model, made.input, made.picked, settings));
  COT_TRY(must_be_finite(made, method.name));
  return made;
}

Status must_be_finite(const Explanation& explanation, std::string_view method) {
  if (!std::isfinite(explanation.score))
    return not_finite(explanation.example, method, "the model's output is infinite");
  for (const float value : explanation.attribution.values) {
    if (!std::isfinite(value)) return not_finite(explanation.example, method, "an attribution is not finite");
  }
  return {};
}

std::vector<size_t> strongest(const Attribution& attribution, size_t count) {
  std::vector<size_t> order(attribution.values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return std::fabs(attribution.values[i]); });
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace coterie
