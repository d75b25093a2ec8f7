// What this server answers, in its own words.
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/json/openapi_bytes.h"
#include "fl_server/net/entity_tag.h"

namespace coterie::admin_handlers {

HttpResponse get_openapi(AdminContext&, const AdminCall& call) {
  HttpResponse response;
  response.content_type = "application/json";
  response.body.assign(kOpenApiBytes.begin(), kOpenApiBytes.end());
  return with_entity_tag(call.head, std::move(response));
}

}  // namespace coterie::admin_handlers
