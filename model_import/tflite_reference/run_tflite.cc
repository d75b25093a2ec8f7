#include "model_import/tflite_reference/run_tflite.h"

#include <map>

#include "model_import/tflite_reference/kernel_call.h"

namespace coterie::model_import {
namespace {

Result<KernelOutputs> from_reals(const KernelCall& call) {
  COT_ASSIGN(std::vector<double> reals, compute_reals(call));
  const TfliteTensor& tensor = call.output();
  COT_ASSIGN(TfliteArray y, zeros_of(tensor));
  if (y.size() != reals.size()) return bad_form("an output of another shape than it computes");
  if (is_real(tensor.type)) {
    y.reals = std::move(reals);
  } else if (tensor.grid.is_given()) {
    if (tensor.grid.scales.size() != 1 || !(tensor.grid.scales[0] > 0))
      return bad_form("an output without one scale above 0");
    y.integers = grid_numbers(tensor, reals);
  } else {
    const IntegerRange range = range_of(tensor.type);
    for (size_t i = 0; i < reals.size(); ++i) {  // a cast, towards zero
      const bool is_in = reals[i] >= static_cast<double>(range.low) && reals[i] <= static_cast<double>(range.high);
      y.integers[i] = tensor.type == TfliteType::boolean ? reals[i] != 0 : is_in ? static_cast<int64_t>(reals[i]) : 0;
    }
  }
  return one_output(std::move(y));
}

Result<KernelOutputs> computed(const KernelCall& call) {
  for (const int32_t output : call.op.outputs) COT_TRY(elements_of(call.model.tensor(output)));
  COT_ASSIGN(KernelOutputs moved, move_elements(call));
  if (!moved.empty()) return moved;
  COT_ASSIGN(KernelOutputs integers, compute_integers(call));
  if (!integers.empty()) return integers;
  return from_reals(call);
}

}  // namespace

Result<std::vector<TfliteArray>> run_tflite(const TfliteModel& model, const std::vector<TfliteArray>& inputs) {
  std::map<int32_t, TfliteArray> values;
  if (inputs.size() != model.inputs.size()) {
    return Error(ErrorCode::invalid_argument, "the file has " + std::to_string(model.inputs.size()) + " inputs");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TfliteTensor& tensor = model.tensor(model.inputs[i]);
    COT_ASSIGN(const TfliteArray like, zeros_of(tensor));
    if (inputs[i].reals.size() != like.reals.size() || inputs[i].integers.size() != like.integers.size()) {
      return Error(ErrorCode::invalid_argument, "input " + tensor.name + " has another size or type than in the file");
    }
    values[model.inputs[i]] = inputs[i];
  }
  for (size_t i = 0; i < model.operators.size(); ++i) {
    const TfliteOperator& op = model.operators[i];
    for (const int32_t input : op.inputs) {
      if (input == kNoOperand || values.contains(input)) continue;
      const TfliteTensor& tensor = model.tensor(input);
      COT_ASSIGN(TfliteArray array,
                 tensor.is_constant() ? constant_of(tensor) : zeros_of(tensor));  // a state begins so
      values[input] = std::move(array);
    }
    Result<KernelOutputs> outputs = computed({.model = model, .op = op, .values = values});
    if (!outputs) return outputs.error().with_context(what_of(model, i));
    if (outputs->size() > op.outputs.size()) return bad_form(what_of(model, i) + " has too few outputs");
    for (size_t k = 0; k < outputs->size(); ++k) values[op.outputs[k]] = std::move((*outputs)[k]);
  }
  std::vector<TfliteArray> results;
  for (const int32_t output : model.outputs) {
    if (!values.contains(output)) return bad_form("nothing computes the output " + model.tensor(output).name);
    results.push_back(values[output]);
  }
  return results;
}

}  // namespace coterie::model_import
