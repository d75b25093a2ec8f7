// `coterie demo --analytics`: a real server and real devices that count and train nothing; their table beside what all
// examples together say.
#pragma once

#include "tools/cli/exit_code.h"
#include "tools/demo/options.h"

namespace coterie {

// As run_demo (demo.h).
ExitCode run_analytics_demo(const DemoOptions& options);

}  // namespace coterie
