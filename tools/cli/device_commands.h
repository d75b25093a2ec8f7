// coterie device list|revoke, coterie token ..., coterie server ...: who may take part, and how the server is.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/admin_command.h"

namespace coterie {

struct DeviceListOptions {
  uint32_t limit = 100;
  std::string after;       // a device's id
  std::string population;  // empty: of all
  bool revoked = false;    // only those
};
ExitCode list_devices(const AdminCommand& command, const DeviceListOptions& options);
ExitCode revoke_device(const AdminCommand& command, const std::string& device);

struct NewToken {
  uint32_t uses = 1;
  std::string population = "default";
  std::string label;
  uint32_t valid_hours = 24;
};
ExitCode create_token(const AdminCommand& command, const NewToken& options);
ExitCode list_tokens(const AdminCommand& command);
ExitCode remove_token(const AdminCommand& command, const std::string& token);

ExitCode show_server(const AdminCommand& command);

}  // namespace coterie
