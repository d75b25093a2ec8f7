#include "device_sdk/runtime/evaluation_fit.h"

#include <string>

#include "base/text/concat.h"
#include "device_sdk/runtime/model_part.h"

namespace coterie {
namespace {

Status check_tensors(const RangeRules& rules, const Model& model) {
  for (const std::string& name : rules.tensors) {
    COT_ASSIGN(const uint32_t tensor, find_activation(model.graph(), name));
    if (model.type(tensor) == DataType::float32) continue;
    return Error(ErrorCode::invalid_argument,
                 concat({"activation ranges: the model's tensor ", name, " has no float32"}));
  }
  return {};
}

Error unfit(std::string_view what) {
  return Error(ErrorCode::invalid_argument, concat({"evaluation: the model ", what}));
}

}  // namespace

Status check_evaluated(const AnalyticsRules& rules, const Model& model) {
  if (model.graph().inputs.size() != 1 || model.input_type() != DataType::float32) {
    return unfit("must have one input, of numbers");
  }
  COT_ASSIGN(const uint64_t inputs, element_count(model.input_shape()));
  if (inputs != rules.input_values) {
    return unfit(concat({"takes examples of ", inputs, " numbers, and input_values is ", rules.input_values}));
  }
  if (rules.evaluation->ranges) return check_tensors(*rules.evaluation->ranges, model);
  COT_ASSIGN(const uint64_t outputs, element_count(model.output_shape()));
  if (outputs == rules.evaluation->classes) return {};
  return unfit(
      concat({"says ", outputs, " numbers of an example, and there are ", rules.evaluation->classes, " classes"}));
}

}  // namespace coterie
