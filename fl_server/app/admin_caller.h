// Who somebody of an identity provider is on the admin plane.
#pragma once

#include "base/result.h"
#include "fl_server/oidc/jwt.h"
#include "fl_server/records/admin_token.h"

namespace coterie {

// With the roles that the role_map gave. `has_tenant`: the provider's tokens name a tenant (tenant_claim); without one
// the caller sees every tenant. permission_denied: what the token names is no tenant's name.
Result<AdminCaller> caller_of(const OidcIdentity& identity, bool has_tenant);

}  // namespace coterie
