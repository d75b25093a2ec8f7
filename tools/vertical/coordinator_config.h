// CoordinatorConfig: what a coordinator's operator says, in a JSON file; docs/VERTICAL.md has the fields. Paths in it
// are relative to the folder of the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vertical/coordinator/coordinator_limits.h"
#include "vertical/coordinator/coordinator_server.h"
#include "vertical/link/tls_link.h"

namespace coterie {

struct CoordinatorConfig {
  vertical::CoordinatorAddress listen;
  std::string port_file;  // the port is written there; empty: nowhere
  std::string jobs;       // folder of the jobs, made if it is not there
  vertical::TlsIdentity tls;
  std::vector<std::string> operators;  // names in certificates of who may look at all jobs, pause and cancel them
  vertical::CoordinatorLimits limits;
};

// Errors name the file and every field that is wrong.
Result<CoordinatorConfig> read_coordinator_config(const std::string& file);
Result<CoordinatorConfig> parse_coordinator_config(std::string_view text, const std::string& folder);

}  // namespace coterie
