// What a simulation is of: the job, the data and the model that it names, and the virtual fleet.
#pragma once

#include "base/result.h"
#include "scheduler/job/job_settings.h"
#include "tools/demo/demo_data.h"
#include "tools/simulate/virtual_round.h"

namespace coterie {

struct SimulateOptions;

struct SimulationInputs {
  JobSettings job;
  DemoData data;
  VirtualFleet fleet;
  Digest identity;  // all that decides a bit of the simulation: a checkpoint is of one, and ranks compare theirs. The
                    // examples are in it if there is a checkpoint, or several ranks
};

// Makes what `settings` name of the options' data, model and seed. Errors: invalid_argument (options that do not fit
// the job, or several ranks); conflict (the job names other files); those of data, model and trace.
Result<SimulationInputs> prepare_simulation(const SimulateOptions& options, const JobSettings& settings,
                                            uint32_t ranks);

}  // namespace coterie
