#include "tools/cli/model_report.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/model_report/report_page.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model report";

std::string page_beside(const std::string& model) {
  return std::filesystem::path(model).replace_extension(".report.html").string();
}

Result<ModelAudit> audited(const ReportOptions& options) {
  COT_ASSIGN(const Model model, open_model(options.model));
  COT_ASSIGN(LocalData data, open_data(options.data));
  std::optional<RunFacts> run;
  if (!options.run.empty()) {
    COT_ASSIGN(run, read_run_facts(options.run));
  }
  InterruptibleSource examples(data.judges());
  AuditSettings settings = options.settings;
  settings.go_on = go_on_unless_interrupted;
  Result<ModelAudit> audit =
      audit_model(model, data.judges(), examples, std::move(data.contract), std::move(run), settings);
  if (!audit) return audit.error().with_context(options.model + " on " + options.data);
  audit->model_file = std::filesystem::path(options.model).filename().string();
  audit->data_name = options.data;
  return audit;
}

bool is_of_another_run(const ModelAudit& audit) { return audit.is_of_run && !*audit.is_of_run; }

std::string text_of(const ModelAudit& audit, const std::string& page) {
  Table table({{"WHAT", Table::Align::left}, {"", Table::Align::right}});
  table.add({"examples", format_count(audit.evaluation.examples)});
  table.add({"loss", format_fixed(audit.evaluation.loss_mean, 4)});
  if (audit.classes) {
    table.add({"accuracy", format_percent(audit.evaluation.accuracy)});
    table.add({"expected calibration error", format_percent(audit.classes->expected_calibration_error())});
  }
  for (const Disturbance& one : audit.disturbances) {
    table.add({one.what, audit.classes ? format_percent(one.evaluation.accuracy)
                                       : "loss " + format_fixed(one.evaluation.loss_mean, 4)});
  }
  if (audit.checks) table.add({"explanations hold", audit.checks->hold() ? "yes" : "no"});
  std::string text = table.text();
  if (audit.explanations.empty()) text += "\nnot explained: " + printable(audit.not_explained) + "\n";
  if (is_of_another_run(audit)) text += "\nthe file is not the model that the run made\n";
  return text + "\nwritten to " + printable(page) + "\n";
}

nlohmann::json json_of(const ModelAudit& audit, const std::string& page) {
  nlohmann::json answer = {{"page", page},
                           {"model_digest", audit.model.digest},
                           {"data_digest", audit.data_digest},
                           {"examples", audit.evaluation.examples},
                           {"loss", audit.evaluation.loss_mean}};
  for (const Measure& measure : audit.measures) answer[measure.name] = measure.value;
  if (audit.is_of_run) answer["is_of_run"] = *audit.is_of_run;
  if (audit.classes) {
    answer["accuracy"] = audit.evaluation.accuracy;
    answer["expected_calibration_error"] = audit.classes->expected_calibration_error();
    nlohmann::json classes = nlohmann::json::array();
    for (size_t i = 0; i < audit.classes->classes().size(); ++i) {
      const ClassScore& score = audit.classes->classes()[i];
      classes.push_back({{"class", printable(audit.class_name(i))},
                         {"examples", score.examples},
                         {"recall", score.recall()},
                         {"precision", score.precision()}});
    }
    answer["classes"] = std::move(classes);
  }
  nlohmann::json disturbances = nlohmann::json::array();
  for (const Disturbance& one : audit.disturbances) {
    nlohmann::json entry = {{"what", one.what}, {"loss", one.evaluation.loss_mean}};
    if (audit.classes) entry["accuracy"] = one.evaluation.accuracy;
    disturbances.push_back(std::move(entry));
  }
  answer["robustness"] = std::move(disturbances);
  if (audit.checks) answer["explanations_hold"] = audit.checks->hold();
  if (audit.explanations.empty()) answer["not_explained"] = printable(audit.not_explained);
  return answer;
}

}  // namespace

ExitCode report_model(const ReportOptions& options) {
  const std::string file = options.to.empty() ? page_beside(options.model) : options.to;
  if (const Status distinct = distinct_files(
          {{"FILE", options.model},
           {"--data", options.data},
           {"the summary of --run", options.run.empty() ? std::string() : run_summary_path(options.run)}},
          {{"-o", file}});
      !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  const Result<ModelAudit> audit = audited(options);
  if (!audit) return fail_on_input(kCommand, audit.error());
  const Result<std::string> page = report_page(*audit);
  if (!page) return fail_on_input(kCommand, page.error());
  if (const Status written = os::write_file_atomically(file, as_bytes(*page)); !written) {
    return fail_on_output(kCommand, written.error());
  }
  if (options.as_json) print_json(json_of(*audit, file));
  else print_text(text_of(*audit, file));
  const bool holds = !audit->checks || audit->checks->hold();
  return holds && !is_of_another_run(*audit) ? ExitCode::ok : ExitCode::failure;
}

}  // namespace coterie
