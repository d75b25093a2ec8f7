// DeviceRoute: the device plane's routes as data: what is asked for, what the work is worth, whether the request is
// signed, who answers. The table is device_routes.cc; a route is one row there and one handler of DeviceService.
// docs/PROTOCOL.md describes the same table from the other side; tests/tidy/check_docs.py compares them. Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "fl_server/core/queue_delay.h"
#include "fl_server/net/exchange.h"
#include "fl_server/net/route_pattern.h"
#include "secure/identity/request_signature.h"

namespace coterie {

class DeviceService;

// A request as its handler sees it.
struct DeviceCall {
  PathParameters path;   // views of the request's head
  RequestClaims claims;  // who says to have signed it: not verified yet. Empty if the route is not signed.
};

using DeviceHandler = Awaitable<HttpResponse> (DeviceService::*)(Exchange& exchange, DeviceCall call);

struct DeviceRoute {
  std::string_view method;  // GET (and so HEAD), POST, PUT
  std::string_view pattern;
  std::optional<Work> work;  // none: worth nothing and answered always, by a server that stands by, too
  bool is_signed = true;     // by the device; a request without a signature is refused before its body is read
  DeviceHandler handler = nullptr;
};

std::span<const DeviceRoute> device_routes();

struct DeviceRouteMatch {
  const DeviceRoute* route = nullptr;  // null: there is none of this method and path
  PathParameters path;
};
// HEAD counts as GET. `path` outlives the match.
DeviceRouteMatch find_device_route(std::string_view method, std::string_view path);

// Who says to have signed a request. unauthenticated: nobody does; malformed: a header that is not what it should be.
Result<RequestClaims> read_claims(const RequestHead& head);

}  // namespace coterie
