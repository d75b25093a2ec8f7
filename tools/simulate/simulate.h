// `coterie simulate`: a job in one process, without a server and without a network, with the code that ships.
//
// What decides a model's bits is shared with server and devices: the trainer, the device's seed, make_update, RingSum,
// the finalizer. Where all devices are in each round the model is to have the digest that `coterie demo` comes to with
// the same job, data and seed. Behind masks a sum has the same bits, so masks are not computed. Jobs with noise are
// refused.
#pragma once

#include <string>

#include "tools/cli/exit_code.h"
#include "tools/simulate/options.h"

namespace coterie {

ExitCode run_simulate(const SimulateOptions& options, const std::string& program);

}  // namespace coterie
