#include "tools/cli/model_report.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/local_files.h"
#include "tools/cli/model_report_json.h"
#include "tools/cli/model_report_text.h"
#include "tools/cli/report.h"
#include "tools/data/data_name.h"
#include "tools/data/table_column.h"
#include "tools/model_report/membership.h"
#include "tools/model_report/report_page.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model report";

std::string page_beside(const std::string& model) {
  return std::filesystem::path(model).replace_extension(".report.html").string();
}

// The file that has the examples' groups: the table that was named, or the one that the data come from.
std::string group_file(const ReportOptions& options) {
  if (!options.group_table.empty()) return options.group_table;
  const Result<DataName> name = DataName::parse(options.data);
  return name && name->kind() == "csv" ? name->path() : std::string();
}

Result<std::optional<ExampleGroups>> groups_of(const ReportOptions& options) {
  if (options.group.empty()) return std::optional<ExampleGroups>();
  const std::string file = group_file(options);
  if (file.empty()) {
    return Error(ErrorCode::invalid_argument, "--group " + options.group +
                                                  " goes by a column, and these data have none: name a table with a "
                                                  "row an example, --group-table FILE");
  }
  COT_ASSIGN(const std::vector<std::string> values, read_column(file, options.group));
  return std::optional(make_groups(options.group, values, options.group_examples_min));
}

// The export of the ledger that is read; empty: there is none.
std::string ledger_file(const ReportOptions& options) {
  if (!options.ledger.empty() || options.run.empty()) return options.ledger;
  const std::string of_run = options.run + "/" + kLedgerFile;
  return os::exists(of_run) ? of_run : std::string();
}

// What other files say beside the model and the data.
Status add_evidence(const ReportOptions& options, ModelAudit& audit) {
  COT_ASSIGN(audit.drills, read_drills(options.drills));
  if (const std::string file = ledger_file(options); !file.empty()) {
    const double delta = audit.run ? audit.run->delta.value_or(kLedgerDelta) : kLedgerDelta;
    COT_ASSIGN(audit.ledger, read_ledger_proof(file, delta, audit.run ? audit.run->ledger_head : std::string()));
  }
  if (!options.evaluation.empty()) {
    COT_ASSIGN(audit.on_devices, read_device_fairness(options.evaluation, audit.model.digest));
  }
  return {};
}

Status add_membership(const ReportOptions& options, const Model& model, ModelAudit& audit) {
  if (options.members.empty()) {
    audit.not_drilled = "no training examples were named (--members)";
    return {};
  }
  COT_ASSIGN(LocalData data, open_data(options.members, model));
  InterruptibleSource members(data.examples);
  const Status drilled =
      drill_membership(model, data.examples, members, data.contract, options.members, options.settings, audit);
  if (!drilled) return drilled.error().with_context("--members " + options.members);
  return {};
}

Result<ModelAudit> audited(const ReportOptions& options) {
  COT_ASSIGN(const Model model, open_model(options.model));
  COT_ASSIGN(LocalData data, open_data(options.data, model));
  std::optional<RunFacts> run;
  if (!options.run.empty()) {
    COT_ASSIGN(run, read_run_facts(options.run));
  }
  InterruptibleSource examples(data.judges());
  AuditSettings settings = options.settings;
  settings.go_on = go_on_unless_interrupted;
  COT_ASSIGN(settings.groups, groups_of(options));
  Result<ModelAudit> audit =
      audit_model(model, data.judges(), examples, std::move(data.contract), std::move(run), settings);
  if (!audit) return audit.error().with_context(options.model + " on " + options.data);
  audit->model_file = std::filesystem::path(options.model).filename().string();
  audit->data_name = options.data;
  COT_TRY(add_membership(options, model, *audit));
  COT_TRY(add_evidence(options, *audit));
  return audit;
}

}  // namespace

ExitCode report_model(const ReportOptions& options) {
  const std::string file = options.to.empty() ? page_beside(options.model) : options.to;
  if (const Status distinct = distinct_files(
          {{"FILE", options.model},
           {"--data", options.data},
           {"--members", options.members},
           {"--group-table", options.group_table},
           {"the ledger", ledger_file(options)},
           {"--evaluation", options.evaluation},
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
  if (options.as_json) print_json(audit_json(*audit, file));
  else print_text(audit_text(*audit, file));
  return objections(*audit).empty() ? ExitCode::ok : ExitCode::failure;
}

}  // namespace coterie
