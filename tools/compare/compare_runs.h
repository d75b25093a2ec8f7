// `coterie compare`: runs side by side, as a table and a chart.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/cli/exit_code.h"
#include "tools/compare/comparison.h"

namespace coterie {

struct CompareOptions {
  std::vector<std::string> runs;  // FOLDER of a run, FOLDER of a sweep, or NAME=FOLDER,FOLDER...
  std::string out;                // the chart; empty: none but a sweep's own
  bool json = false;
};

// What `runs` name, in their order. Errors: a folder that is neither a run nor a sweep, two variants of one name, more
// than kVariantsMax.
Result<std::vector<Variant>> read_variants(const std::vector<std::string>& runs);

ExitCode run_compare(const CompareOptions& options);

}  // namespace coterie
