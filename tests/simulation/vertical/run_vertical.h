// The program's mode --vertical: any number of simulated vertical jobs, with progress and a report.
#pragma once

#include <cstdint>
#include <string>

namespace coterie::simulation {

struct VerticalRun {
  uint64_t jobs = 0;
  uint64_t seed = 1;
  std::string mutant = "none";
  bool json = false, quiet = false;
};

// The process's exit status: 0 if nothing was found, 1 if something was, 2 if there is no such mutant.
int run_vertical(const VerticalRun& run);

}  // namespace coterie::simulation
