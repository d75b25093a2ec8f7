// `coterie simulate`: a job in one process, without a server and without a network, with the code that ships.
//
// What decides a model's bits is shared with server and devices: the trainer, the device's seed, make_update, RingSum,
// the finalizer. Where all devices are in each round the model is to have the digest that `coterie demo` comes to with
// the same job, data and seed. Behind masks a sum has the same bits, so masks are not computed; cohorts are formed
// where a rule compares them. Jobs with noise are refused.
#pragma once

#include <string>

#include "base/result.h"
#include "scheduler/job/job_settings.h"
#include "tools/cli/exit_code.h"
#include "tools/demo/progress.h"
#include "tools/simulate/options.h"
#include "tools/simulate/ranks.h"

namespace coterie {

struct SimulatedRun {
  std::string score;  // of the model, on the held-out examples: "accuracy 91.3 %" or "R2 0.812"
  double seconds = 0;
  std::string summary;  // one JSON object in one line, as summary.json has it
  std::string told;     // the same for a person
};

// Simulates this job, whatever options.job_file says, which is only named. Rounds go to `progress`, errors to standard
// error. `done` is set if it returns ok. Several ranks all call it with the same; rank 0 alone tells, and leaves
// anything.
ExitCode run_simulation(const SimulateOptions& options, const JobSettings& job, const std::string& program,
                        ProgressLine& progress, Ranks& ranks, SimulatedRun& done);

// `coterie simulate`.
ExitCode run_simulate(const SimulateOptions& options, const std::string& program);

}  // namespace coterie
