#include "fl_server/admin_api/admin_service.h"

#include <new>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin_api/call_once.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/tenants.h"
#include "fl_server/console/session_cookie.h"
#include "secure/crypto/random.h"
#include "secure/identity/bearer_token.h"

namespace coterie {
namespace {

constexpr std::string_view kNobody = "-";
constexpr size_t kRequestIdBytes = 8;
constexpr std::string_view kCsrfHeader = "coterie-csrf";

// The query as a map, with a problem for each key that is given twice: it is not for us to choose one of two values.
Result<std::map<std::string, std::string>> read_query(const std::string& text, Problems& problems) {
  COT_ASSIGN(const auto pairs, parse_query(text));
  std::map<std::string, std::string> query;
  for (const auto& [key, value] : pairs) {
    if (!query.try_emplace(key, value).second) problems.push_back({"?" + key, "is given twice"});
  }
  return query;
}

}  // namespace

AdminService::AdminService(AdminServiceSettings settings, AdminServiceParts parts, const std::string& token)
    : authenticator_(parts.admin, token_digest(token), parts.verify_foreign),
      audit_(parts.admin),
      context_(std::move(settings), std::move(parts), authenticator_, audit_, os::wall_now()) {
  pool_.start(context_.settings.pool_threads);
}

void AdminService::replace_token(const std::string& token) {
  authenticator_.replace_data_directory_digest(token_digest(token));
}

AdminService::~AdminService() { pool_.stop(); }

HttpResponse AdminService::refuse(const Error& error, int status) { return problem_response(error, {}, status); }

Awaitable<Result<AdminCaller>> AdminService::authenticate(std::string authorization, CallerKey address) {
  const std::optional<std::string_view> token = bearer_token(authorization);
  if (!token) co_return bearer_token_needed();
  std::optional<Result<AdminCaller>> known = authenticator_.answer_at_once(*token, os::now());
  if (known) co_return *std::move(known);
  const auto verify = [this, &token, address](std::function<void(Result<AdminCaller>)> done) {
    pool_.post(
        [this, &token, address, done = std::move(done)] { done(authenticator_.verify(*token, os::now(), address)); });
  };
  co_return co_await await_callback<Result<AdminCaller>>(verify);
}

Result<AdminCaller> AdminService::caller_of_session(std::string_view session) {
  std::optional<AdminCaller> caller = context_.sessions.find(session, os::now());
  if (caller) return *std::move(caller);
  return Error(ErrorCode::unauthenticated, "there is no such session, or it has ended: sign in again");
}

Status AdminService::check_session(const AdminCall& call) {
  const std::string& id = call.caller.id;
  if (call.session.empty() || id == kDataDirectoryTokenId || is_of_provider(call.caller)) return {};
  const Result<AdminTokenRecord> token = context_.admin.get_admin_token(id);
  if (token) return {};
  if (token.error().code() != ErrorCode::not_found) return token.error();
  context_.sessions.close(call.session);
  return Error(ErrorCode::unauthenticated, "the token of this session was removed");
}

Awaitable<RoutedResponse> AdminService::handle(Exchange& exchange) {
  const RequestHead& head = exchange.head();
  RouteMatch match = find_admin_route(head.method, head.path);
  const std::string_view route = match.pattern.empty() ? kUnknownRoute : match.pattern;
  HttpResponse response = co_await respond(exchange, std::move(match));
  co_return RoutedResponse{route, std::move(response)};
}

Awaitable<HttpResponse> AdminService::respond(Exchange& exchange, RouteMatch match) {
  const RequestHead& head = exchange.head();
  AdminCaller caller;
  std::string session;
  // Who may not ask is told nothing, not even what exists: so this comes before 404 and 405.
  if (match.route == nullptr || !match.route->is_open()) {
    std::string authorization(head.header("authorization"));
    if (authorization.empty()) session = session_secret(head.header("cookie"));
    Result<AdminCaller> found = caller_of_session(session);
    if (session.empty()) found = co_await authenticate(std::move(authorization), exchange.origin().address);
    if (!found) {
      AuditEntry entry{.who = std::string(kNobody),
                       .target = std::string(match.pattern)};  // never a stranger's own words
      HttpResponse refusal = problem_response(found.error());
      co_return co_await refused(exchange, match.route, std::move(entry), std::move(refusal));
    }
    exchange.sender_is_known();
    caller = std::move(*found);
  }
  if (match.pattern.empty()) co_return problem_response(Error(ErrorCode::not_found, "no such route: " + head.path));
  if (match.route == nullptr) {
    HttpResponse response =
        problem_response(Error(ErrorCode::invalid_argument, "this route takes " + match.allowed), {}, 405);
    response.headers.emplace_back("Allow", match.allowed);
    co_return response;
  }
  const AdminRoute& route = *match.route;
  const std::string request = route.action.empty() ? std::string() : to_hex(random_bytes(kRequestIdBytes));
  if (const Status allowed = check_roles(route, caller.roles); !allowed) {
    AuditEntry entry{.who = caller.id, .roles = caller.roles.text(), .target = head.path, .request = request};
    HttpResponse refusal = problem_response(allowed.error());
    co_return co_await refused(exchange, &route, std::move(entry), std::move(refusal));
  }
  // A browser sends the cookie whoever made the page: so a change has to show what only our own page knows.
  if (!session.empty() && !route.action.empty() &&
      !context_.sessions.is_csrf_token(session, head.header(kCsrfHeader))) {
    AuditEntry entry{.who = caller.id, .roles = caller.roles.text(), .target = head.path, .request = request};
    HttpResponse refusal =
        problem_response(Error(ErrorCode::permission_denied, "a session's changes need its token in Coterie-Csrf"));
    co_return co_await refused(exchange, &route, std::move(entry), std::move(refusal));
  }
  if (!context_.leading && !route.is_served_on_standby(context_.remote_events != nullptr)) {
    co_return problem_response(
        Error(ErrorCode::unavailable, "this server stands by: ask the one that leads, or the balancer before both"));
  }
  AdminCall call{head,    std::move(caller),        std::move(match.parameters), {}, {}, std::move(session),
                 request, exchange.origin().address};
  co_return co_await answer(exchange, route, std::move(call));
}

Awaitable<HttpResponse> AdminService::refused(Exchange& exchange, const AdminRoute* route, AuditEntry entry,
                                              HttpResponse refusal) {
  if (route == nullptr || route->action.empty()) co_return refusal;
  if (!entry.request.empty()) refusal.headers.emplace_back("Coterie-Request-Id", entry.request);
  entry.action = route->action;
  entry.outcome = static_cast<uint32_t>(refusal.status);
  const bool known = entry.who != kNobody;
  if (!audit_.admits_refusal(known, os::monotonic_now())) co_return refusal;
  const auto write = [this, &entry, known](std::function<void(Status)> done) {
    pool_.post(
        [this, &entry, known, done = std::move(done)] { done(audit_.write_refusal(entry, known, os::wall_now())); });
  };
  const Status written = co_await await_callback<Status>(write);
  if (!written) {
    const LogTrace trace(exchange.trace().trace_id());
    log(LogLevel::error, "audit_failed", {{"error", written.error().message()}});
  }
  co_return refusal;
}

Awaitable<HttpResponse> AdminService::answer(Exchange& exchange, const AdminRoute& route, AdminCall call) {
  AuditEntry entry{
      .who = call.caller.id, .roles = call.caller.roles.text(), .target = call.head.path, .request = call.request};
  Problems twice;
  auto query = read_query(call.head.query, twice);
  if (!query || !twice.empty()) {
    HttpResponse refusal = query ? query_problem(twice) : problem_response(query.error());
    co_return co_await refused(exchange, &route, std::move(entry), std::move(refusal));
  }
  call.query = std::move(*query);
  uint64_t body_max = 0;
  if (route.body == AdminBody::json) body_max = kAdminJsonBytesMax;
  if (route.body == AdminBody::file) body_max = context_.settings.upload_bytes_max;
  Result<RequestBody> body = co_await exchange.read_body(body_max);
  if (!body) {
    HttpResponse refusal = problem_response(body.error());
    co_return co_await refused(exchange, &route, std::move(entry), std::move(refusal));
  }
  call.body = std::move(body->bytes);  // its share stays here until the answer is made
  const auto work = [this, &route, &call, &exchange](std::function<void(HttpResponse)> done) {
    pool_.post([this, &route, &call, &exchange, done = std::move(done)] {
      HttpResponse response;
      {
        const LogTrace trace(exchange.trace().trace_id());
        try {
          response = carry_out(route, call);
        } catch (const std::bad_alloc&) {
          response = problem_response(Error(ErrorCode::overloaded, "the server has no memory for this request"));
        }
      }
      done(std::move(response));
    });
  };
  co_return co_await await_callback<HttpResponse>(work);
}

HttpResponse AdminService::carry_out(const AdminRoute& route, const AdminCall& call) {
  if (const Status stands = check_session(call); !stands) return problem_response(stands.error());
  if (route.action.empty()) {
    if (const Status mine = check_tenant(context_, route, call); !mine) return problem_response(mine.error());
    return route.handler(context_, call);
  }

  AuditEntry entry{.who = call.caller.id,
                   .roles = call.caller.roles.text(),
                   .action = std::string(route.action),
                   .target = call.head.path,
                   .request = call.request};
  // Begun is written before anything is done, and ended before the answer leaves: nothing is done that the log lacks,
  // even if the process dies in between.
  if (const Status begun = audit_.write(entry, os::wall_now()); !begun) {
    return problem_response(begun.error().with_context("nothing was done, as the audit log cannot be written"));
  }
  const Status mine = check_tenant(context_, route, call);
  HttpResponse response = mine ? call_once(context_, route, call) : problem_response(mine.error());
  entry.outcome = static_cast<uint32_t>(response.status);
  for (const auto& [name, value] : response.headers) {
    if (name == "Location") entry.target = value;                                               // what was made
    if (name == "ETag" && response.status == 201) entry.target = call.head.path + " " + value;  // what was stored
  }
  if (const Status ended = audit_.write(entry, os::wall_now()); !ended) {
    const std::string half = "it was carried out, with status " + std::to_string(response.status) +
                             ", but the audit log has only that request " + call.request + " was begun";
    response = problem_response(ended.error().with_context(half));
  }
  response.headers.emplace_back("Coterie-Request-Id", call.request);
  return response;
}

}  // namespace coterie
