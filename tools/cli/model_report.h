// coterie model report: what an auditor asks of a model, as a page.
#pragma once

#include <string>

#include "tools/cli/exit_code.h"
#include "tools/model_report/model_audit.h"

namespace coterie {

struct ReportOptions {
  std::string model, data;  // files; of the data also a name that load_data knows
  std::string run;          // folder of the run that made the model; empty: none
  std::string to;           // the page; empty: beside the model
  AuditSettings settings;
  bool as_json = false;
};
// failure: the run names another model, or a check of the explanations does not hold; the page is written all the same.
ExitCode report_model(const ReportOptions& options);

}  // namespace coterie
