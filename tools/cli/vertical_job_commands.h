// `coterie vertical list`, and status, pause, resume and cancel of a job by its id: what a server's operator sees and
// does of the jobs of the server's coordinator, over the admin REST API. A party has its own: tools/vertical.
#pragma once

#include <string>

#include "tools/cli/admin_command.h"

namespace coterie {

ExitCode list_vertical_jobs(const AdminCommand& command);
ExitCode show_vertical_job(const AdminCommand& command, const std::string& job);
// `verb`: pause, resume or cancel.
ExitCode change_vertical_job(const AdminCommand& command, const std::string& job, const std::string& verb);

}  // namespace coterie
