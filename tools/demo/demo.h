// `coterie demo`: a real server, real device processes, real training: from data to a trained model in one command.
#pragma once

#include <string>

#include "tools/cli/exit_code.h"
#include "tools/demo/options.h"

namespace coterie {

// Says on its own what went wrong. `program`: this program as the user called it. Whatever happens, no process of ours
// and no half-written file is left. Precondition: Interrupt::install(), one thread.
ExitCode run_demo(const DemoOptions& options, const std::string& program);

}  // namespace coterie
