#include "fl_server/admin_api/call_once.h"

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/store/admin_store.h"

namespace coterie {

HttpResponse call_once(AdminContext& context, const AdminRoute& route, const AdminCall& call) {
  const std::string_view text = call.head.header("idempotency-key");
  if (!route.traits.takes_key || text.empty()) return route.handler(context, call);
  // Where there is no body, the path says what is asked.
  const ByteView asked = route.body == AdminBody::none ? as_bytes(call.head.path) : ByteView(call.body);
  auto key = make_idempotency_key(text, call.caller.id, route.operation, asked);
  if (!key) return problem_response(key.error());
  key->tenant = call.caller.tenant;
  const Result<KeyClaim> claim =
      context.admin.claim_key(*key, os::wall_now(), context.settings.quotas.idempotency_keys_max);
  if (!claim) return problem_response(claim.error());
  switch (claim->state) {
    case KeyClaim::State::claimed: break;
    case KeyClaim::State::other_body:
      return problem_response(Error(ErrorCode::conflict, "this Idempotency-Key was of a request with another body"), {},
                              422);
    case KeyClaim::State::under_way:
      return problem_response(
          Error(ErrorCode::conflict,
                "a request with this Idempotency-Key was begun and has not ended; ask again, or, if the server was "
                "started anew since, look what became of it and take another key"));
    case KeyClaim::State::answered: {
      HttpResponse response;
      response.status = static_cast<int>(claim->answer.status);
      if (!claim->answer.body.empty()) response.content_type = "application/json";
      if (!claim->answer.location.empty()) response.headers.emplace_back("Location", claim->answer.location);
      response.headers.emplace_back("Idempotent-Replayed", "true");
      response.body = claim->answer.body;
      return response;
    }
  }
  HttpResponse response = route.handler(context, call);
  KeptAnswer answer{static_cast<uint32_t>(response.status), {}, response.body};
  for (const auto& [name, value] : response.headers) {
    if (name == "Location") answer.location = value;
  }
  // What failed may be tried again. If this cannot be written, the key stays under way: never a second time
  // unseen.
  const Status kept = response.status < 300 ? context.admin.keep_answer(*key, answer) : context.admin.release_key(*key);
  if (!kept) log(LogLevel::error, "idempotency_key_failed", {{"error", kept.error().message()}});
  return response;
}

}  // namespace coterie
