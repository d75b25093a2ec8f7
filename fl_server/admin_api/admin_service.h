// AdminService: the operators' plane. Its own listener, loopback by default; bearer token; JSON; every error is a
// problem document (RFC 9457) that names all problems at once.
//
// This is the shell around the table of routes (routes.cc) and its handlers (handlers.h): it finds the row,
// authenticates, authorises, reads the body, and has the handler called on a small pool, never on a network thread;
// around a handler that changes something it writes the audit log. It knows no operation by name.
#pragma once

#include <string>

#include "fl_server/admin/admin_authenticator.h"
#include "fl_server/admin/audit_log.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/route.h"
#include "fl_server/net/exchange.h"
#include "fl_server/runtime/work_pool.h"

namespace coterie {

class AdminService final : public HttpService {
 public:
  // `token` is that of the data directory.
  AdminService(AdminServiceSettings settings, AdminServiceParts parts, const std::string& token);
  ~AdminService() override;

  Awaitable<RoutedResponse> handle(Exchange& exchange) override;
  HttpResponse refuse(const Error& error, int status) override;

  // Another token of the data directory; thread-safe.
  void replace_token(const std::string& token);

  // What readiness answers; false while starting, standing by and draining.
  void set_ready(bool ready) { context_.ready = ready; }
  // While another server leads: routes that look at jobs, or change anything, are for that one to answer.
  void set_leading(bool leading) { context_.leading = leading; }

 private:
  // Finds the caller that the value of the Authorization header stands for. Named tokens that are not remembered are
  // verified on the pool.
  Awaitable<Result<AdminCaller>> authenticate(std::string authorization, CallerKey address);
  Result<AdminCaller> caller_of_session(std::string_view session);
  // On the pool: unauthenticated if the call's session has outlived its token, which another node may have removed.
  Status check_session(const AdminCall& call);
  Awaitable<HttpResponse> respond(Exchange& exchange, RouteMatch match);
  // Reads query and body of a caller who may ask, then has the request carried out.
  Awaitable<HttpResponse> answer(Exchange& exchange, const AdminRoute& route, AdminCall call);
  // On the pool: the handler, and before and after it the records of the audit log if the route has an action.
  HttpResponse carry_out(const AdminRoute& route, const AdminCall& call);
  // Writes that this was refused, if the route has an action; gives back `refusal`, with the request's id.
  Awaitable<HttpResponse> refused(Exchange& exchange, const AdminRoute* route, AuditEntry entry, HttpResponse refusal);

  AdminAuthenticator authenticator_;
  AuditLog audit_;
  AdminContext context_;
  WorkPool pool_;
};

}  // namespace coterie
