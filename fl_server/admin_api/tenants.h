// Tenants on the admin plane: a caller of one sees its own objects, and is told of others' that there is no such thing.
#pragma once

#include <map>
#include <string>

#include "base/ids.h"
#include "base/problem.h"
#include "base/result.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/route.h"
#include "fl_server/records/tenant.h"

namespace coterie {

// What a caller gets to see of a list: a snapshot of who owns what.
struct TenantView {
  std::string tenant;  // of the caller
  std::map<std::string, std::string> owners;
  bool sees(const std::string& name) const;
};

// permission_denied: the route is of the whole server. not_found: what the path names is another tenant's.
Status check_tenant(AdminContext& context, const AdminRoute& route, const AdminCall& call);

Result<TenantView> view_of(AdminContext& context, const AdminCall& call, Owned kind);

// The tenant that has it; the default tenant, if nobody has claimed it.
Result<std::string> owner_of(AdminContext& context, Owned kind, const std::string& name);

// Tenant of a new object: `wanted`, else the caller's. Adds a problem if the caller may not create objects there.
Result<std::string> tenant_for(const AdminCall& call, const std::string& wanted, Problems& problems,
                               const std::string& pointer);

// Makes sure that the tenant has this population; not_found: another has it.
Status claim_population(AdminContext& context, const Population& population, const std::string& tenant);

}  // namespace coterie
