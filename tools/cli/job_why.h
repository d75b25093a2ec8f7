// coterie job why: what became of the devices that asked in a round.
#pragma once

#include <string>

#include "tools/cli/admin_command.h"

namespace coterie {

// `round`: its number; 0: the newest.
ExitCode show_round_why(const AdminCommand& command, const std::string& job, uint64_t round);

}  // namespace coterie
