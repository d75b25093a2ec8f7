// The console: its page, and the sessions of who has signed in to it.
#include "fl_server/console/console_sessions.h"

#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "fl_server/admin/admin_authenticator.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/provider_sign_in.h"
#include "fl_server/console/console_assets.h"
#include "fl_server/console/session_cookie.h"
#include "fl_server/json/rfc3339.h"

namespace coterie::admin_handlers {
namespace {

// What a page may know of its session. The CSRF token is for whoever has the session, and so is shown again.
nlohmann::json session_json(const AdminContext& context, const AdminCaller& caller, const std::string& secret) {
  nlohmann::json roles = nlohmann::json::array();
  for (const Role role : kRoles) {
    if (caller.roles.contains(role)) roles.push_back(to_string(role));
  }
  nlohmann::json json = {{"who", caller.id}, {"roles", roles}, {"tenant", caller.tenant}};
  if (caller.expires != WallTime::max()) json["expires"] = rfc3339(caller.expires);
  if (!secret.empty()) json["csrf_token"] = context.sessions.csrf_token(secret);
  return json;
}

}  // namespace

HttpResponse get_console(AdminContext&, const AdminCall& call) { return console_asset(call.head, ConsoleAsset::page); }

HttpResponse get_console_script(AdminContext&, const AdminCall& call) {
  return console_asset(call.head, ConsoleAsset::script);
}

HttpResponse get_console_style(AdminContext&, const AdminCall& call) {
  return console_asset(call.head, ConsoleAsset::style);
}

HttpResponse sign_in(AdminContext& context, const AdminCall& call) {
  if (!call.session.empty()) {  // else a session would prolong itself beyond its end
    return problem_response(Error(ErrorCode::permission_denied, "signing in takes a token, not a session"));
  }
  const Now now = os::now();
  const Result<std::string> secret =
      context.sessions.open(call.caller, context.authenticator.watch(call.caller.id), now);
  if (!secret) return problem_response(secret.error());
  const std::optional<AdminCaller> caller = context.sessions.find(*secret, now);
  if (!caller) return problem_response(Error(ErrorCode::unauthenticated, "the token has ended meanwhile"));
  HttpResponse response = json_response(session_json(context, *caller, *secret), 201);
  response.headers.emplace_back("Set-Cookie", session_cookie(*secret));
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

HttpResponse get_session(AdminContext& context, const AdminCall& call) {
  HttpResponse response = json_response(session_json(context, call.caller, call.session));
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

// Whoever the provider has said it is would be signed in again by the next press of the button: the browser signs out
// there, too.
HttpResponse sign_out(AdminContext& context, const AdminCall& call) {
  context.sessions.close(call.session);
  const bool is_theirs = context.provider != nullptr && is_of_provider(call.caller);
  const std::string away = is_theirs ? context.provider->end_session_url() : std::string();
  HttpResponse response;
  if (away.empty()) response.status = 204;
  else response = json_response({{"end_session_url", away}});
  response.headers.emplace_back("Set-Cookie", ended_session_cookie());
  return response;
}

}  // namespace coterie::admin_handlers
