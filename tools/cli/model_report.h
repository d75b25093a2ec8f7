// coterie model report: what an auditor asks of a model, as a page.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/exit_code.h"
#include "tools/model_report/model_audit.h"

namespace coterie {

struct ReportOptions {
  std::string model, data;          // files; of the data also a name that load_data knows
  std::string members;              // examples that the model was trained on, named as data are; empty: unknown
  std::string run;                  // folder of the run that made the model; empty: none
  std::string ledger;               // an export of the privacy ledger; empty: the run's, if its folder has one
  std::string evaluation;           // the result of an evaluation job; empty: none
  std::vector<std::string> drills;  // folders of runs in which devices lied
  std::string group;                // a column that says of each example whose it is; empty: none
  std::string group_table;          // the file that has it; empty: the table that the data are
  uint64_t group_examples_min = kGroupExamplesMin;
  std::string to;  // the page; empty: beside the model
  AuditSettings settings;
  bool as_json = false;
};
// failure: there is something to object to (objections()); the page is written all the same.
ExitCode report_model(const ReportOptions& options);

}  // namespace coterie
