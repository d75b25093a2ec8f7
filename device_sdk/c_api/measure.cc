// coterie_model_measure. Apart from evaluation.cc: an app that asks for none of it does not link it.
#include <algorithm>
#include <string>
#include <vector>

#include "device_sdk/c_api/evaluation.h"
#include "device_sdk/c_api/model_handle.h"
#include "device_sdk/c_api/structs.h"
#include "device_sdk/runtime/measures.h"

namespace {

using namespace coterie;

constexpr size_t kNamesMax = 64;

Result<std::vector<std::string>> names_of(const char* const* names, size_t count, const double* values) {
  if (count > 0 && (names == nullptr || values == nullptr)) return null_argument("names and values");
  if (count > kNamesMax) {
    return Error(ErrorCode::invalid_argument,
                 std::to_string(count) + " measures, at most " + std::to_string(kNamesMax) + " at a time");
  }
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == nullptr) {
      return Error(ErrorCode::invalid_argument, "names[" + std::to_string(i) + "] is NULL");
    }
    all.emplace_back(names[i]);
  }
  COT_TRY(check_measures(all));
  return all;
}

Status measure(const coterie_model& handle, const coterie_dataset* dataset, const coterie_train_options* options,
               const std::vector<std::string>& names, double* values, coterie_evaluation* evaluation) {
  COT_ASSIGN(const KnownOptions known, train_options_of(options));
  const Shape& output = handle.model.output_shape();
  const uint64_t width = output.empty() ? 1 : static_cast<uint64_t>(output.back());  // evaluate() refuses none
  MeasureCollector collector(loss_of_own_output(known.training.loss), width, names);
  const OutputSink sink = [&](auto outputs, auto targets) { collector.add(outputs, targets); };
  COT_ASSIGN(const Evaluation result, evaluate(handle, dataset, known.training, names.empty() ? nullptr : sink));
  std::vector<double> measured;
  for (const std::string& name : names) {
    COT_ASSIGN(const double value, collector.value_of(name, result));
    measured.push_back(value);
  }
  std::ranges::copy(measured, values);
  if (evaluation != nullptr) fill(*evaluation, result);
  return {};
}

}  // namespace

extern "C" coterie_status coterie_model_measure(coterie_model* model, const coterie_dataset* dataset,
                                                const coterie_train_options* options, const char* const* names,
                                                size_t name_count, double* values, coterie_evaluation* evaluation) {
  return with(model, [&]() -> Status {
    if (evaluation != nullptr) COT_TRY(check_size(*evaluation, "evaluation"));
    COT_ASSIGN(const std::vector<std::string> known, names_of(names, name_count, values));
    return measure(*model, dataset, options, known, values, evaluation);
  });
}
