// What a party's operator asks a coordinator for: `coterie vertical submit`, `approve`, `status`, `cancel`, `pause`,
// `resume`. Each takes the party's own configuration, which names its coordinator, its manifest and its certificate.
#pragma once

#include <string>

#include "base/result.h"
#include "tools/cli/exit_code.h"
#include "tools/vertical/party_config.h"
#include "vertical/coordinator/coordinator_wire.h"

namespace coterie {

enum class JobCommand : uint8_t { submit, approve, status, cancel, pause, resume };

// What the coordinator knows of the job afterwards. `refused` with the reason "manifest_not_approved" for a manifest
// that is not the one whose digest the configuration has; invalid_argument for a configuration without a coordinator;
// the refusals of vertical/coordinator/refusal.h.
Result<vertical::JobView> run_job_command(JobCommand command, const PartyConfig& config);

// The command: prints the job, as JSON if asked for; 0, or what exit_code.h says of the error, which is printed.
ExitCode run_job_command(JobCommand command, const std::string& config_file, bool json);

std::string job_text(const vertical::JobView& view);
std::string job_view_json(const vertical::JobView& view);

}  // namespace coterie
