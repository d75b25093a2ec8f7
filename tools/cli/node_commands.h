// coterie node: the servers of a fleet.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/cli/admin_command.h"

namespace coterie {

// What each node of the fleet does and how much it has to do, by name.
ExitCode list_nodes(const AdminCommand& command);

// The same as a table: `answer` is that of GET /admin/v1/nodes. Without a node, why there is none.
std::string nodes_text(const nlohmann::json& answer);

}  // namespace coterie
