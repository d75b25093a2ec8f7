// What can be seen of a server's set-up on this machine, whether it runs or not: limits, disk, files, clock, ports and
// database. Nothing is changed but that a database of SQLite may get an empty log beside it.
#pragma once

#include "base/time.h"
#include "tools/doctor/finding.h"

namespace coterie {

struct ServerConfig;

// `is_running`: its ports are its own then, and it has the database open.
Findings look_at_machine(const ServerConfig& config, bool is_running, WallTime now);

}  // namespace coterie
