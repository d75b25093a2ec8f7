#include "tools/cli/model_evaluate.h"

#include <nlohmann/json.hpp>

#include "device_sdk/runtime/augment.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/model/measure.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model evaluate";

}  // namespace

ExitCode evaluate_model(const EvaluateOptions& options) {
  const Result<std::vector<std::string>> names = parse_measures(options.measures);
  if (!names) return fail_on_input(kCommand, names.error());
  const Result<Model> model = open_model(options.model);
  if (!model) return fail_on_input(kCommand, model.error());
  Result<LocalData> data = open_data(options.data);
  if (!data) return fail_on_input(kCommand, data.error());
  const LossSettings loss = loss_for(data->judges().header(), options.loss);
  InterruptibleSource examples(data->judges());
  const double unit = static_cast<double>(data->judges().header().target.scale);
  Result<std::optional<AugmentedSource>> images = judged(examples, *model, loss, options.augment);
  if (!images) return fail_on_input(kCommand, images.error());
  ExampleSource& read = *images ? static_cast<ExampleSource&>(**images) : examples;
  const Result<Measured> measured = measure(*model, read, loss, *names, options.threads, unit);
  if (!measured) {
    return fail_on_input(kCommand, measured.error().with_context(options.model + " on " + options.data));
  }
  const Evaluation& evaluation = measured->evaluation;
  if (options.as_json) {
    nlohmann::json answer = {
        {"examples", evaluation.examples}, {"loss", evaluation.loss_mean}, {"accuracy", evaluation.accuracy}};
    for (const Measure& one : measured->measures) answer[one.name] = one.value;
    print_json(answer);
    return ExitCode::ok;
  }
  const bool is_classified = loss.target == TargetKind::labels;
  std::string text = (is_classified ? "accuracy " + format_percent(evaluation.accuracy) + ", " : "") + "loss " +
                     format_fixed(evaluation.loss_mean, 4) + " on " + format_count(evaluation.examples) + " examples\n";
  if (!measured->measures.empty()) {
    Table table({{"MEASURE"}, {"VALUE", Table::Align::right}});
    for (const Measure& one : measured->measures) table.add({one.name, format_fixed(one.value, 4)});
    text += "\n" + table.text();
  }
  print_text(text);
  return ExitCode::ok;
}

}  // namespace coterie
