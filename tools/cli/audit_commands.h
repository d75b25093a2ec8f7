// coterie audit ...: what callers of the admin plane did, and whether the log of it is whole.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/admin_command.h"

namespace coterie {

struct AuditListOptions {
  uint64_t after = 0;
  uint32_t limit = 100;
  std::string who;
  std::string action;
  std::string since, until;  // "2026-11-21T06:30:00Z"; the second is not included
};
ExitCode list_audit(const AdminCommand& command, const AuditListOptions& options);

// Downloads the log and checks its chain here; with a head that was noted before ("17:DIGEST"), also that
// nothing up to it was written anew and that the end was not cut off.
ExitCode verify_audit_log(const AdminCommand& command, const std::string& head);

}  // namespace coterie
