#include "fl_server/app/admin_caller.h"

#include <optional>
#include <string>

namespace coterie {

Result<AdminCaller> caller_of(const OidcIdentity& identity, bool has_tenant) {
  AdminCaller caller{
      .id = std::string(kProviderCallerPrefix) + identity.subject, .roles = {}, .expires = identity.expires};
  if (has_tenant) {
    if (!is_tenant_name(identity.tenant)) {
      return Error(ErrorCode::permission_denied,
                   "the tenant in this token is not a tenant's name: 1 to 64 of a-z, 0-9, '-', '_' and '.'");
    }
    caller.tenant = identity.tenant;
  }
  for (const std::string& name : identity.roles) {
    if (const std::optional<Role> role = role_from_name(name)) caller.roles.insert(*role);
  }
  return caller;
}

}  // namespace coterie
