// Requests that are carried out once, however often they are sent (fl_server/records/idempotency.h).
#pragma once

#include "fl_server/admin_api/route.h"
#include "fl_server/net/http_types.h"

namespace coterie {

// What the route's handler answers, or has answered to the first request of this Idempotency-Key. Without a key, or
// where the route takes none, the handler is called.
HttpResponse call_once(AdminContext& context, const AdminRoute& route, const AdminCall& call);

}  // namespace coterie
