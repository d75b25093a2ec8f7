// coterie admin-token ...: who may use the admin plane, as what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/admin_command.h"

namespace coterie {

struct NewAdminTokenOptions {
  std::string label;
  std::vector<std::string> roles;
  uint32_t valid_days = 90;
  std::string tenant;  // empty: whoever asks says by his own token
};
// The token alone goes to standard output, so that `> file` keeps it.
ExitCode create_admin_token(const AdminCommand& command, const NewAdminTokenOptions& options);
ExitCode list_admin_tokens(const AdminCommand& command);
ExitCode remove_admin_token(const AdminCommand& command, const std::string& token);

}  // namespace coterie
