#include "fl_server/admin/route.h"

#include <algorithm>

namespace coterie {
namespace {

// Matches "/a/{x}/b:verb" segment by segment; parameters have no '/', and no ':' where the pattern goes on
// with one.
bool match(std::string_view pattern, std::string_view path, std::map<std::string, std::string>& parameters) {
  while (!pattern.empty()) {
    if (pattern[0] != '{') {
      if (path.empty() || path[0] != pattern[0]) return false;
      pattern.remove_prefix(1);
      path.remove_prefix(1);
      continue;
    }
    const size_t close = pattern.find('}');
    const std::string name(pattern.substr(1, close - 1));
    pattern.remove_prefix(close + 1);
    const std::string_view value = path.substr(0, path.find_first_of("/:"));
    if (value.empty()) return false;
    parameters[name] = value;
    path.remove_prefix(value.size());
  }
  return path.empty();
}

Error unbound(std::string_view operation, const char* what) {
  return Error(ErrorCode::internal, "admin plane: operation " + std::string(operation) + " has " + what +
                                        ": admin_routes.cc and the handlers of AdminService must agree");
}

}  // namespace

RouteMatch find_admin_route(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  RouteMatch found;
  for (const AdminRoute& candidate : admin_routes()) {
    std::map<std::string, std::string> parameters;
    if (!match(candidate.pattern, path, parameters)) continue;
    found.pattern = candidate.pattern;
    if (candidate.method == method) return {&candidate, candidate.pattern, std::move(parameters), {}};
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(candidate.method);
  }
  return found;
}

Status check_roles(const AdminRoute& route, RoleSet caller) {
  if (route.allows(caller)) return {};
  return Error(ErrorCode::permission_denied,
               std::string(route.operation) + " is for " + route.roles->text() + "; this token has " + caller.text());
}

Status check_bindings(std::span<const AdminRoute> routes, std::span<const std::string_view> handlers) {
  for (const AdminRoute& route : routes) {
    if (std::ranges::count(routes, route.operation, &AdminRoute::operation) != 1)
      return unbound(route.operation, "two routes");
    const auto bound = std::ranges::count(handlers, route.operation);
    if (bound != 1) return unbound(route.operation, bound == 0 ? "no handler" : "two handlers");
  }
  for (const std::string_view handler : handlers) {
    if (std::ranges::count(routes, handler, &AdminRoute::operation) == 0)
      return unbound(handler, "a handler and no route");
  }
  return {};
}

}  // namespace coterie
