#include "tools/cli/model_optimise.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/model/output_check.h"
#include "tools/optimise/optimise.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model optimise";
constexpr uint32_t kExamples = 16;

size_t stored_values(const Model& model) {
  size_t count = 0;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (has_payload(tensor.role)) count += elements(tensor.shape);
  }
  return count;
}

void print_outcome(const Model& before, const OptimisedModel& optimised, double difference,
                   const ModelOptimiseOptions& options) {
  const Model& after = optimised.model;
  std::string text;
  if (!optimised.passes.empty()) {
    Table table({{"PASS"}, {"REWRITES", Table::Align::right}});
    for (const PassCount& pass : optimised.passes) table.add({std::string(pass.name), format_count(pass.rewrites)});
    text = table.text() + "\n";
  }
  char number[32];
  std::snprintf(number, sizeof number, "%.2g", difference);
  print_text(text + counted(before.graph().ops.size(), "op") + " before, " + format_count(after.graph().ops.size()) +
             " after; " + counted(stored_values(before), "value") + " before, " + format_count(stored_values(after)) +
             " after\n" + counted(kExamples, "random example") + ": answers differ by " + number +
             " of the largest at most\n" + format_bytes(after.file().size()) + " written to " + printable(options.to) +
             "\n");
}

nlohmann::json json_of(const Model& before, const OptimisedModel& optimised, double difference) {
  nlohmann::json passes = nlohmann::json::object();
  for (const PassCount& pass : optimised.passes) passes[std::string(pass.name)] = pass.rewrites;
  const auto side = [](const Model& model) {
    return nlohmann::json{
        {"ops", model.graph().ops.size()}, {"values", stored_values(model)}, {"bytes", model.file().size()}};
  };
  return {{"passes", std::move(passes)},
          {"before", side(before)},
          {"after", side(optimised.model)},
          {"difference", difference}};
}

}  // namespace

ExitCode optimise_model(const ModelOptimiseOptions& options) {
  if (const Status distinct = distinct_files({{"FILE", options.from}}, {{"-o", options.to}}); !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  const Result<Model> model = open_model(options.from);
  if (!model) return fail_on_input(kCommand, model.error());
  const Result<OptimisedModel> optimised =
      optimise(*model, {.level = options.level, .use = options.is_trainable ? ModelUse::train : ModelUse::predict});
  if (!optimised) return fail_on_input(kCommand, optimised.error());
  const Result<OutputCheck> check = compare_on_random_inputs(optimised->model, *model, kExamples);
  if (!check) return fail_on_input(kCommand, check.error());
  if (const Status written = os::write_file_atomically(options.to, optimised->model.file()); !written) {
    return fail_on_output(kCommand, written.error());
  }
  if (options.as_json) print_json(json_of(*model, *optimised, check->difference));
  else print_outcome(*model, *optimised, check->difference, options);
  return ExitCode::ok;
}

}  // namespace coterie
