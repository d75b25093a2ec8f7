// Sign-in at an identity provider: to it, and back from it.
//
// Both are navigations of a browser, so that each answer is a redirect: to the provider, or to our own page, whose
// fragment says what came of it. No part of any address is taken from a request. A request from the provider's site
// carries no Strict cookie, and needs none: the page is everybody's. What the page asks next it asks from our own site,
// with the session's cookie.
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin/admin_authenticator.h"
#include "fl_server/admin/audit_log.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/provider_sign_in.h"
#include "fl_server/admin_api/route.h"
#include "fl_server/console/session_cookie.h"
#include "fl_server/console/sign_in_cookie.h"
#include "secure/crypto/random.h"

namespace coterie::admin_handlers {
namespace {

constexpr std::string_view kAction = "console.sign_in";
constexpr std::string_view kNobody = "-";
constexpr size_t kRequestIdBytes = 8;
constexpr int kSeeOther = 303;
constexpr int kOpened = 201;

HttpResponse redirect(const std::string& address) {
  HttpResponse response;
  response.status = kSeeOther;
  response.headers = {{"Location", address}, {"Cache-Control", "no-store"}, {"Referrer-Policy", "no-referrer"}};
  return response;
}

HttpResponse came_to_nothing(std::string_view reason) {
  HttpResponse response = redirect("/#/sign-in-failed/" + std::string(reason));
  response.headers.emplace_back("Set-Cookie", ended_sign_in_cookie());
  return response;
}

std::string_view value_of(const AdminCall& call, const char* key) {
  const auto found = call.query.find(key);
  return found == call.query.end() ? std::string_view() : std::string_view(found->second);
}

// Whether another site sent the browser here: nobody is to be signed in who has not asked for it. Browsers that do not
// say so are taken at their word that the state is theirs.
bool is_of_another_site(const RequestHead& head) {
  const std::string_view site = head.header("sec-fetch-site");
  return site == "cross-site" || site == "same-site";
}

Result<AdminCaller> caller_of(AdminContext& context, const AdminCall& call, Now now) {
  COT_ASSIGN(AdminCaller caller, context.provider->finish({.cookie = pending_sign_in(call.head.header("cookie")),
                                                           .state = value_of(call, "state"),
                                                           .code = value_of(call, "code"),
                                                           .issuer = value_of(call, "iss"),
                                                           .error = value_of(call, "error"),
                                                           .address = call.address},
                                                          now));
  return caller;
}

bool may_sign_in(const AdminCaller& caller) {
  for (const AdminRoute& route : admin_routes()) {
    if (route.action == kAction) return route.allows(caller.roles);
  }
  return false;
}

// Strangers cause few lines, as few as records.
HttpResponse refused(AdminContext& context, const AdminCall& call, AuditEntry entry, const Error& error) {
  entry.action = kAction;
  entry.target = call.head.path;
  entry.outcome = static_cast<uint32_t>(traits(error.code()).http_status);
  const bool known = entry.who != kNobody;
  if (context.audit.admits_refusal(known, os::monotonic_now())) {
    log(LogLevel::warning, "console_sign_in_refused", {{"reason", error.reason()}, {"error", error.message()}});
    const Status written = context.audit.write_refusal(std::move(entry), known, os::wall_now());
    if (!written) log(LogLevel::error, "audit_failed", {{"error", written.error().message()}});
  }
  return came_to_nothing(error.reason());
}

// As the service does around a change: begun is in the log before there is a session, and its end before it is told.
Result<std::string> open_session(AdminContext& context, const AdminCall& call, const AdminCaller& caller, Now now) {
  AuditEntry entry{.who = caller.id,
                   .roles = caller.roles.text(),
                   .action = std::string(kAction),
                   .target = call.head.path,
                   .request = to_hex(random_bytes(kRequestIdBytes))};
  COT_TRY(context.audit.write(entry, now.wall));
  Result<std::string> secret = context.sessions.open(caller, context.authenticator.watch(caller.id), now);
  entry.outcome = static_cast<uint32_t>(secret ? kOpened : traits(secret.error().code()).http_status);
  const Status ended = context.audit.write(std::move(entry), os::wall_now());
  if (ended) return secret;
  if (secret) context.sessions.close(*secret);
  return ended.error();
}

}  // namespace

HttpResponse list_sign_in_ways(AdminContext& context, const AdminCall&) {
  nlohmann::json json = {{"token", true}};
  if (context.provider != nullptr) json["provider"] = {{"name", context.provider->name()}};
  HttpResponse response = json_response(json);
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

HttpResponse begin_provider_sign_in(AdminContext& context, const AdminCall& call) {
  if (context.provider == nullptr) {
    return problem_response(Error(ErrorCode::not_found, "no identity provider is set for this console"));
  }
  if (is_of_another_site(call.head)) return redirect("/");
  if (!context.leading) return came_to_nothing("stands_by");
  const ProviderSignIn::Begun begun = context.provider->begin(os::wall_now());
  HttpResponse response = redirect(begun.redirect);
  response.headers.emplace_back("Set-Cookie", sign_in_cookie(begun.cookie, ProviderSignIn::kLifeMax));
  return response;
}

HttpResponse finish_provider_sign_in(AdminContext& context, const AdminCall& call) {
  if (context.provider == nullptr) {
    return problem_response(Error(ErrorCode::not_found, "no identity provider is set for this console"));
  }
  if (!context.leading) return came_to_nothing("stands_by");
  const Now begun = os::now();
  const Result<AdminCaller> caller = caller_of(context, call, begun);
  if (!caller) return refused(context, call, {.who = std::string(kNobody)}, caller.error());
  if (!may_sign_in(*caller)) {
    return refused(
        context, call, {.who = caller->id, .roles = caller->roles.text()},
        Error(ErrorCode::permission_denied, "sign-in: the ID token has no role that may use the console", "no_role"));
  }
  const Result<std::string> secret = open_session(context, call, *caller, os::now());
  if (!secret) {
    log(LogLevel::error, "console_sign_in_failed", {{"error", secret.error().message()}});
    return came_to_nothing("busy");
  }
  HttpResponse response = redirect("/#/signed-in");
  response.headers.emplace_back("Set-Cookie", ended_sign_in_cookie());
  response.headers.emplace_back("Set-Cookie", session_cookie(*secret));
  return response;
}

}  // namespace coterie::admin_handlers
