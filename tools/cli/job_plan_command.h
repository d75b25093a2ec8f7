// coterie job schema, validate and plan: a job looked at before there is one, without a server.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/exit_code.h"

namespace coterie {

struct JobPlanCommand {
  std::string job;          // JSON, as POST /admin/v1/jobs takes it
  std::string model;        // a model file; empty: the job by itself, or one with analytics, which brings its table
  uint64_t examples = 100;  // of each device
  bool json = false;
};

// Prints all that is wrong with the job, each with its JSON pointer: usage; or that nothing is: ok.
ExitCode validate_job(const JobPlanCommand& command);
// Prints the JSON Schema of a job's file.
ExitCode print_job_schema();
// Prints what the job will ask for and spend; what is wrong with it as validate_job does.
ExitCode print_job_plan(const JobPlanCommand& command);

}  // namespace coterie
