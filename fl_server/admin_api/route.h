// AdminRoute: the admin plane's routes as data: what is asked for, by whom, who answers it, and what the audit log
// calls it. The table is routes.cc: a route is one row there and one function (handlers.h). docs/openapi.json and the
// authorisation matrix of the tests are compared with it. Finding a route is pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fl_server/records/role.h"

namespace coterie {

struct AdminCall;
struct AdminContext;
struct HttpResponse;

using AdminHandler = HttpResponse (*)(AdminContext& context, const AdminCall& call);

enum class AdminBody : uint8_t {
  none,  // no body is read, but for an empty one
  json,  // at most kAdminJsonBytesMax
  file,  // a model or a data set: at most AdminServiceSettings::upload_bytes_max
};
inline constexpr uint64_t kAdminJsonBytesMax = 1 << 20;

// Who answers a route while another server leads.
enum class AdminServedBy : uint8_t {
  leader,  // only the one that leads: the route looks at jobs, or changes something
  any,     // every server: the answer is of its process, or of the fleet
  relay,   // every server of a fleet: one that does not lead passes on what the leader says
};

struct AdminRouteTraits {
  bool takes_key = false;     // an Idempotency-Key; not what answers with a secret, which is not kept
  bool whole_server = false;  // tells of all tenants at once: not for a caller of one
  AdminServedBy served_by = AdminServedBy::leader;
};

struct AdminRoute {
  std::string_view method;       // GET (and so HEAD), POST, DELETE
  std::string_view pattern;      // "/admin/v1/jobs/{job}:pause"
  std::string_view operation;    // operationId of docs/openapi.json: the route's name in code
  std::string_view summary;      // as in docs/openapi.json
  std::optional<RoleSet> roles;  // one of these; none: anybody, without a token
  AdminHandler handler = nullptr;
  AdminRouteTraits traits = {};
  std::string_view action = {};  // what the audit log calls it: "job.pause"; empty for what changes nothing
  AdminBody body = AdminBody::none;

  bool is_open() const { return !roles.has_value(); }
  bool allows(RoleSet caller) const { return is_open() || roles->intersects(caller); }
  // Whether a server that does not lead answers. `relays`: it can ask the one that leads.
  bool is_served_on_standby(bool relays) const {
    return traits.served_by == AdminServedBy::any || (traits.served_by == AdminServedBy::relay && relays);
  }
};

std::span<const AdminRoute> admin_routes();

struct RouteMatch {
  const AdminRoute* route = nullptr;              // of this method and path; null: there is none
  std::string_view pattern;                       // of the path, whatever the method; empty: no such path
  std::map<std::string, std::string> parameters;  // of the pattern
  std::string allowed;                            // methods the path takes, "GET, POST", if this one is not among them
};

// HEAD counts as GET. A parameter is a segment's text without '/' and ':', and is not empty.
RouteMatch find_admin_route(std::string_view method, std::string_view path);

// permission_denied, naming the operation, the roles that may and those of the caller.
Status check_roles(const AdminRoute& route, RoleSet caller);

}  // namespace coterie
