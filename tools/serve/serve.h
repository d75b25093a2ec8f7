// coterie serve: one model as the Open Inference Protocol v2, from a file or from a server's job, until it is told to
// stop.
#pragma once

#include "tools/cli/admin_command.h"
#include "tools/cli/exit_code.h"
#include "tools/serve/serve_options.h"

namespace coterie {

// Prints where it listens and how it is asked; then what it serves, as versions come.
ExitCode serve_model(const ServeOptions& options, const AdminCommand& admin);

}  // namespace coterie
