// `coterie vertical coordinator`: where two parties meet who cannot reach each other, until somebody ends it.
#pragma once

#include <string>

#include "tools/cli/exit_code.h"

namespace coterie {

// 130 after Ctrl-C or SIGTERM, else what exit_code.h says of the error, which is printed.
ExitCode run_coordinator_command(const std::string& config_file);

}  // namespace coterie
