// coterie model ...: models on a server, and model files on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device_sdk/runtime/head.h"
#include "tools/cli/admin_command.h"

namespace coterie {

ExitCode list_models(const AdminCommand& command, const std::string& job);
// Which version applications should use: this one, or (none) the one that was promoted before the present one.
ExitCode release_model(const AdminCommand& command, const std::string& job, std::optional<uint64_t> version);
ExitCode delete_model(const AdminCommand& command, const std::string& job, uint64_t version);
// The newest version unless one is named.
ExitCode download_model(const AdminCommand& command, const std::string& job, std::optional<uint64_t> version,
                        const std::string& file);
ExitCode upload_model(const AdminCommand& command, const std::string& file);

struct NewModel {
  std::string kind;
  std::string input = "8x8x1";
  uint32_t classes = 10;
  uint64_t seed = 1;
  std::string file;
};
ExitCode new_model(const NewModel& options);
struct NewHead {
  std::string from, to;  // files
  HeadSettings head;
};
ExitCode new_head(const NewHead& options);
ExitCode inspect_model(const std::string& file, bool as_json);

}  // namespace coterie
