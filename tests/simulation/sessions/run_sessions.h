// The program's mode --sessions: any number of simulated sessions, with progress and a report.
#pragma once

#include <cstdint>
#include <string>

namespace coterie::simulation {

struct SessionRun {
  uint64_t sessions = 0;
  uint64_t seed = 1;
  std::string mutant = "none";
  bool json = false, quiet = false;
};

// The process's exit status: 0 if nothing was found, 1 if something was, 2 if there is no such mutant.
int run_sessions(const SessionRun& run);

}  // namespace coterie::simulation
