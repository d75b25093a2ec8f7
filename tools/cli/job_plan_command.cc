#include "tools/cli/job_plan_command.h"

#include <nlohmann/json.hpp>

#include "fl_server/json/job_schema.h"
#include "tools/cli/job_commands.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/job_plan/job_check.h"
#include "tools/job_plan/job_plan.h"
#include "tools/job_plan/job_plan_text.h"

namespace coterie {
namespace {

Result<CheckedJob> check_files(const JobPlanCommand& command) {
  COT_ASSIGN(const nlohmann::json json, read_job_document(command.job));
  if (command.model.empty()) return check_job(json, {});
  COT_ASSIGN(const Model model, open_model(command.model));
  return check_job(json, Bytes(model.file().begin(), model.file().end()));
}

ExitCode print_problems(const JobPlanCommand& command, const CheckedJob& checked) {
  const Problems& problems = checked.problems;
  if (command.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Problem& problem : problems) list.push_back({{"pointer", problem.pointer}, {"detail", problem.detail}});
    print_json({{"valid", problems.empty()}, {"errors", list}});
    return problems.empty() ? ExitCode::ok : ExitCode::usage;
  }
  if (problems.empty()) {
    print_text(printable(command.job) + ": valid" +
               (!checked.model ? " by itself; --model FILE says whether it goes with its model\n" : "\n"));
    return ExitCode::ok;
  }
  print_text(printable(command.job) + ": " + counted(problems.size(), "problem") + "\n");
  for (const Problem& problem : problems) {
    print_text("  " + printable(problem.pointer.empty() ? "the job" : problem.pointer) + ": " +
               printable(problem.detail) + "\n");
  }
  return ExitCode::usage;
}

}  // namespace

ExitCode validate_job(const JobPlanCommand& command) {
  const Result<CheckedJob> checked = check_files(command);
  if (!checked) return fail_on_input("job validate", checked.error());
  return print_problems(command, *checked);
}

ExitCode print_job_schema() {
  print_json(job_schema());
  return ExitCode::ok;
}

ExitCode print_job_plan(const JobPlanCommand& command) {
  const Result<CheckedJob> checked = check_files(command);
  if (!checked) return fail_on_input("job plan", checked.error());
  if (!checked->problems.empty()) return print_problems(command, *checked);
  if (!checked->model) {
    return fail_on_input("job plan",
                         Error(ErrorCode::invalid_argument,
                               command.job + ": trains a model; --model FILE says which, and what it takes"));
  }
  const Result<JobPlan> plan = plan_job(checked->settings, *checked->model, command.examples);
  if (!plan) return fail_on_input("job plan", plan.error());
  if (command.json) print_json(job_plan_json(*plan));
  else print_text(job_plan_text(*plan));
  return ExitCode::ok;
}

}  // namespace coterie
