// coterie privacy show: what a job with noise has spent, and what that rests on.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/cli/admin_command.h"

namespace coterie {

ExitCode show_privacy(const AdminCommand& command, const std::string& job);

// The answer of /jobs/{job} for a person; of a job with noise.
std::string privacy_text(const nlohmann::json& job);

}  // namespace coterie
