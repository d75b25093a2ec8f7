#include "tools/cli/model_evaluate.h"

#include <nlohmann/json.hpp>

#include "device_sdk/runtime/augment.h"
#include "tools/cli/head_report.h"
#include "tools/cli/local_files.h"
#include "tools/cli/opened_model.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/model/int8_outputs.h"
#include "tools/model/measure.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model evaluate";

Result<Measured> measure_opened(const OpenedModel& opened, ExampleSource& examples, const LossSettings& loss,
                                const std::vector<std::string>& names, uint32_t threads, double unit) {
  if (!opened.int8) return measure(opened.model, examples, loss, names, threads, unit);
  COT_ASSIGN(const Model passing, passing_model(opened.int8->output_shape));
  Int8Outputs outputs(*opened.int8, examples);
  return measure(passing, outputs, loss, names, threads, unit);
}

}  // namespace

ExitCode evaluate_model(const EvaluateOptions& options) {
  const Result<std::vector<std::string>> names = parse_measures(options.measures);
  if (!names) return fail_on_input(kCommand, names.error());
  const Result<OpenedModel> opened = open_answering_model(options.model);
  if (!opened) return fail_on_input(kCommand, opened.error());
  Result<LocalData> data = open_data(options.data);
  if (!data) return fail_on_input(kCommand, data.error());
  LossSettings loss = loss_for(data->judges().header(), options.loss);
  loss.ignore_label = options.ignore_label;
  set_heads(loss, options.heads);
  InterruptibleSource examples(data->judges());
  const double unit = static_cast<double>(data->judges().header().target.scale);
  Result<std::optional<AugmentedSource>> images = judged(examples, opened->model, loss, options.augment);
  if (!images) return fail_on_input(kCommand, images.error());
  ExampleSource& read = *images ? static_cast<ExampleSource&>(**images) : examples;
  const Result<Measured> measured = measure_opened(*opened, read, loss, *names, options.threads, unit);
  if (!measured) {
    return fail_on_input(kCommand, measured.error().with_context(options.model + " on " + options.data));
  }
  const Evaluation& evaluation = measured->evaluation;
  if (options.as_json) {
    nlohmann::json answer = {
        {"examples", evaluation.examples}, {"loss", evaluation.loss_mean}, {"accuracy", evaluation.accuracy}};
    if (options.ignore_label) answer["ignored"] = evaluation.ignored;
    for (const Measure& one : measured->measures) answer[one.name] = one.value;
    if (!measured->heads.empty()) answer["heads"] = heads_json(measured->heads);
    print_json(answer);
    return ExitCode::ok;
  }
  const bool is_classified = loss_of_own_output(loss).target == TargetKind::labels;
  std::string text = (is_classified ? "accuracy " + format_percent(evaluation.accuracy) + ", " : "") + "loss " +
                     format_fixed(evaluation.loss_mean, 4) + " on " + format_count(evaluation.examples) + " examples" +
                     (options.ignore_label ? ", of which " + format_count(evaluation.ignored) + " ignored" : "") + "\n";
  if (!measured->heads.empty()) text += "\n" + heads_text(measured->heads);
  if (!measured->measures.empty()) {
    Table table({{"MEASURE"}, {"VALUE", Table::Align::right}});
    for (const Measure& one : measured->measures) table.add({one.name, format_fixed(one.value, 4)});
    text += "\n" + table.text();
  }
  print_text(text);
  return ExitCode::ok;
}

}  // namespace coterie
