// Requests that are carried out once however often they are sent.
#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin_api/admin_service.h"
#include "fl_server/net/problem.h"

namespace coterie {

HttpResponse AdminService::call_once(const AdminRoute& route, const Call& call, Handler handler) {
  const std::string_view text = call.head.header("idempotency-key");
  if (!route.takes_key || text.empty()) return (this->*handler)(call);
  const auto key = make_idempotency_key(text, call.caller.id, route.operation, call.body);
  if (!key) return problem_response(key.error());
  const Result<KeyClaim> claim = parts_.admin.claim_key(*key, os::wall_now());
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
      response.content_type = "application/json";
      response.headers = {{"Location", claim->answer.location}, {"Idempotent-Replayed", "true"}};
      response.body = claim->answer.body;
      return response;
    }
  }
  HttpResponse response = (this->*handler)(call);
  KeptAnswer answer{static_cast<uint32_t>(response.status), {}, response.body};
  for (const auto& [name, value] : response.headers) {
    if (name == "Location") answer.location = value;
  }
  // What failed may be tried again. If this cannot be written, the key stays under way: never a second time
  // unseen.
  const Status kept = response.status < 300 ? parts_.admin.keep_answer(*key, answer) : parts_.admin.release_key(*key);
  if (!kept) log(LogLevel::error, "idempotency_key_failed", {{"error", kept.error().message()}});
  return response;
}

}  // namespace coterie
