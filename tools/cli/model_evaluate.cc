#include "tools/cli/model_evaluate.h"

#include <nlohmann/json.hpp>

#include "device_sdk/runtime/augment.h"
#include "device_sdk/runtime/int8/int8_outputs.h"
#include "tools/cli/head_report.h"
#include "tools/cli/local_files.h"
#include "tools/cli/opened_model.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/model/measure.h"
#include "tools/model/own_targets.h"

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

// A network in int8 has the model's own output: of several heads' targets that of the first is left, and `loss` is its.
Result<std::optional<OwnTargets>> own_targets(const OpenedModel& opened, ExampleSource& examples, uint64_t cells,
                                              LossSettings& loss) {
  if (!opened.int8 || loss.heads.empty()) return std::optional<OwnTargets>();
  COT_TRY(check_loss_heads(loss));
  COT_ASSIGN(OwnTargets own, OwnTargets::create(examples, cells, opened.model, loss));
  loss = loss_of_own_output(loss);
  return std::optional(std::move(own));
}

}  // namespace

ExitCode evaluate_model(const EvaluateOptions& options) {
  const Result<std::vector<std::string>> names = parse_measures(options.measures);
  if (!names) return fail_on_input(kCommand, names.error());
  const Result<OpenedModel> opened = open_answering_model(options.model);
  if (!opened) return fail_on_input(kCommand, opened.error());
  Result<LocalData> data = open_data(options.data, opened->model, nullptr, options.ignore_label);
  if (!data) return fail_on_input(kCommand, data.error());
  LossSettings loss = loss_for(data->judges().header(), options.loss);
  loss.ignore_label = data->ignore_label;
  set_heads(loss, options.heads);
  InterruptibleSource source(data->judges());
  Result<std::optional<OwnTargets>> own =
      own_targets(*opened, source, elements(data->judges().header().target.shape), loss);
  if (!own) return fail_on_input(kCommand, own.error().with_context(options.model + " on " + options.data));
  ExampleSource& examples = *own ? static_cast<ExampleSource&>(**own) : source;
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
