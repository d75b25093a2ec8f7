// `coterie sweep`: variants of a job, each simulated with the same seeds, and compared.
//
// All variants are checked before the first is trained. Runs that are done are kept: a sweep that was ended goes on
// where it was, if it is asked for the same again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/exit_code.h"
#include "tools/simulate/options.h"

namespace coterie {

struct SweepOptions {
  SimulateOptions simulate;       // the job's file, data, model, devices; demo.seed is the first seed
  std::vector<std::string> grid;  // FIELD=VALUE,VALUE...
  std::vector<std::string> list;  // FIELD=VALUE;FIELD=VALUE...
  uint32_t seeds = 5;
};

ExitCode run_sweep(const SweepOptions& options, const std::string& program);

}  // namespace coterie
