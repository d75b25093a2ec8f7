#include "fl_server/admin_api/route.h"

#include "fl_server/net/route_pattern.h"

namespace coterie {

RouteMatch find_admin_route(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  RouteMatch found;
  for (const AdminRoute& candidate : admin_routes()) {
    PathParameters parameters;
    if (!matches_pattern(candidate.pattern, path, parameters)) continue;
    found.pattern = candidate.pattern;
    if (candidate.method == method) {
      found.route = &candidate;
      for (const auto& [name, value] : parameters) found.parameters.emplace(name, value);
      found.allowed.clear();
      return found;
    }
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(candidate.method);
  }
  return found;
}

Status check_roles(const AdminRoute& route, RoleSet caller) {
  if (route.allows(caller)) return {};
  return Error(ErrorCode::permission_denied,
               std::string(route.operation) + " is for " + route.roles->text() + "; this token has " + caller.text());
}

}  // namespace coterie
