// coterie node: the servers of a fleet.
#pragma once

#include "tools/cli/admin_command.h"

namespace coterie {

// What each node of the fleet does and how much it has to do, by name.
ExitCode list_nodes(const AdminCommand& command);

}  // namespace coterie
