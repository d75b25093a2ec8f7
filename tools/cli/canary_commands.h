// coterie model promote --canary, canaries, observe, end-canary: a version that a share of the devices has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/cli/admin_command.h"

namespace coterie {

// What is not said is the server's default.
struct CanaryOptions {
  uint32_t percent = 0;
  std::optional<uint32_t> promote_after, devices_max;
  std::optional<double> alpha, margin, harm_max;
  std::optional<std::string> evaluation_job;
};
ExitCode promote_canary(const AdminCommand& command, const std::string& job, uint64_t version,
                        const CanaryOptions& options);
ExitCode list_canaries(const AdminCommand& command, const std::string& job);
// Sends the scores of `file`. ExitCode::failure where the canary is rolled back.
ExitCode observe_canary(const AdminCommand& command, const std::string& job, const std::string& canary,
                        const std::string& file);
ExitCode end_canary(const AdminCommand& command, const std::string& job, const std::string& canary);

}  // namespace coterie
