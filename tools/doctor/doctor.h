// coterie doctor: looks a server's set-up over and says what to do about each thing that is wrong.
#pragma once

#include <string>

#include "tools/cli/admin_command.h"
#include "tools/cli/exit_code.h"
#include "tools/doctor/finding.h"

namespace coterie {

struct DoctorOptions {
  std::string config_file;  // of fl_server; empty: its defaults, and the data directory of the connection
};

// `version` is this program's. failure if anything is bad; config if the configuration is, as then nothing else can be
// looked at.
ExitCode run_doctor(const DoctorOptions& options, const AdminCommand& admin, std::string_view version);

// Lines of at most 80 columns: health, subject and what was seen, and below it what to do. Pure.
std::string report_text(const Findings& findings);

}  // namespace coterie
