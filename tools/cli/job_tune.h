// coterie job tune: which settings of a job are the best, by successive halving on a server's devices.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/admin_command.h"
#include "tools/cli/arguments.h"

namespace coterie {

struct TuneOptions {
  std::string job;                      // file
  std::string model, evaluation;        // files to upload; empty: the job's file names them
  std::vector<std::string> grid, list;  // as `coterie sweep` takes them
  uint32_t eta = 3;
  uint32_t rounds_first = 3;
  uint32_t parallel = 4;
  bool finishes = false;
  std::string state_file = "tune.json";
};
ExitCode tune_job(const AdminCommand& command, const TuneOptions& options);

// The grammar, of the group job.
void add_tune(CLI::App& job, Invocation& invocation);

}  // namespace coterie
