// `coterie console`: the console's page over a folder of runs, without a server.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/exit_code.h"

namespace coterie {

struct RunConsoleOptions {
  std::string folder;
  uint16_t port = 0;  // of 127.0.0.1; 0: the system chooses
};

// Until it is interrupted. Prints the page's address.
ExitCode run_console(const RunConsoleOptions& options);

}  // namespace coterie
