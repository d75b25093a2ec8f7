// The admin plane's frame: routing, authorisation, and the answers that concern no object. Objects: admin_jobs.cc,
// admin_models.cc, admin_devices.cc.
#include "fl_server/admin_api/admin_service.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin_api/admin_json.h"
#include "fl_server/net/problem.h"
#include "fl_server/net/retry_after.h"
#include "secure/crypto/random.h"
#include "secure/identity/bearer_token.h"

namespace coterie {
namespace {

constexpr std::string_view kNobody = "-";
constexpr size_t kRequestIdBytes = 8;

// As DeviceQuery has it.
std::string device_tenant(const AdminCaller& caller) {
  return caller.tenant == kEveryTenant ? std::string() : caller.tenant;
}

HttpResponse text_response(std::string_view text, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body.assign(text.begin(), text.end());
  return response;
}

}  // namespace

std::span<const AdminService::Binding> AdminService::bindings() {
  using S = AdminService;
  static constexpr Binding kBindings[] = {
      {"getHealth", &S::get_health},
      {"getReadiness", &S::get_readiness},
      {"listAudit", &S::list_audit},
      {"listAdminTokens", &S::list_admin_tokens},
      {"createAdminToken", &S::create_admin_token},
      {"removeAdminToken", &S::remove_admin_token},
      {"getMetrics", &S::get_metrics},
      {"getServer", &S::get_server},
      {"listNodes", &S::list_nodes},
      {"listJobs", &S::list_jobs},
      {"createJob", &S::create_job},
      {"getJob", &S::get_job},
      {"pauseJob", &S::pause_job},
      {"resumeJob", &S::resume_job},
      {"cancelJob", &S::cancel_job},
      {"listRounds", &S::list_rounds},
      {"listModels", &S::list_models},
      {"getModel", &S::get_model},
      {"getModelContent", &S::get_model_content},
      {"promoteModel", &S::promote_model},
      {"rollBackModel", &S::roll_back_model},
      {"streamEvents", &S::stream_events},
      {"listLedger", &S::list_ledger},
      {"uploadModel", &S::upload_model},
      {"uploadDataset", &S::upload_dataset},
      {"listDevices", &S::list_devices},
      {"revokeDevice", &S::revoke_device},
      {"listTokens", &S::list_tokens},
      {"createToken", &S::create_token},
      {"removeToken", &S::remove_token},
  };
  return kBindings;
}

Status AdminService::check_handlers() {
  std::vector<std::string_view> operations;
  for (const Binding& binding : bindings()) operations.push_back(binding.operation);
  return check_bindings(admin_routes(), operations);
}

AdminService::AdminService(AdminServiceSettings settings, AdminServiceParts parts, const std::string& token)
    : settings_(std::move(settings)),
      parts_(std::move(parts)),
      authenticator_(parts_.admin, token_digest(token)),
      audit_(parts_.admin),
      started_(os::wall_now()) {
  pool_.start(settings_.pool_threads);
}

void AdminService::replace_token(const std::string& token) {
  authenticator_.replace_data_directory_digest(token_digest(token));
}

AdminService::~AdminService() { pool_.stop(); }

HttpResponse AdminService::refuse(const Error& error, int status) { return problem_response(error, {}, status); }

Awaitable<Result<AdminCaller>> AdminService::authenticate(std::string authorization) {
  constexpr std::string_view kBearer = "Bearer ";
  const Error stranger(ErrorCode::unauthenticated, "a valid bearer token is needed: Authorization: Bearer <token>");
  if (!authorization.starts_with(kBearer)) co_return stranger;
  const std::string token = authorization.substr(kBearer.size());
  std::optional<AdminCaller> known = authenticator_.recall(token, os::now());
  if (known) co_return *std::move(known);
  if (!admin_token_id(token)) {
    if (parts_.verify_foreign && std::ranges::count(token, '.') == 2)
      co_return parts_.verify_foreign(token, os::wall_now());
    co_return stranger;
  }
  const auto verify = [this, &token](std::function<void(Result<AdminCaller>)> done) {
    pool_.post([this, &token, done = std::move(done)] { done(authenticator_.verify(token, os::now())); });
  };
  Result<AdminCaller> caller = co_await await_callback<Result<AdminCaller>>(verify);
  co_return caller;
}

Awaitable<HttpResponse> AdminService::handle(Exchange& exchange, std::string_view& route) {
  const RequestHead& head = exchange.head();
  RouteMatch match = find_admin_route(head.method, head.path);
  if (!match.pattern.empty()) route = match.pattern;
  AdminCaller caller;
  // Who may not ask is told nothing, not even what exists.
  if (match.route == nullptr || !match.route->is_open()) {
    std::string authorization(head.header("authorization"));
    Result<AdminCaller> found = co_await authenticate(std::move(authorization));
    if (!found) {
      AuditEntry entry{.who = std::string(kNobody),
                       .target = std::string(match.pattern)};  // never a stranger's own words
      HttpResponse refusal = problem_response(found.error());
      refusal = co_await refused(exchange, match.route, std::move(entry), std::move(refusal));
      co_return refusal;
    }
    caller = std::move(*found);
  }
  if (match.pattern.empty()) {
    route = "unknown";
    co_return problem_response(Error(ErrorCode::not_found, "no such route: " + head.path));
  }
  if (match.route == nullptr) {
    HttpResponse response =
        problem_response(Error(ErrorCode::invalid_argument, "this route takes " + match.allowed), {}, 405);
    response.headers.emplace_back("Allow", match.allowed);
    co_return response;
  }
  const std::string request = match.route->action.empty() ? std::string() : to_hex(random_bytes(kRequestIdBytes));
  if (const Status allowed = check_roles(*match.route, caller.roles); !allowed) {
    AuditEntry entry{.who = caller.id, .roles = caller.roles.text(), .target = head.path, .request = request};
    HttpResponse refusal = problem_response(allowed.error());
    refusal = co_await refused(exchange, match.route, std::move(entry), std::move(refusal));
    co_return refusal;
  }
  if (!leading_ && !match.route->is_open() && match.pattern != "/metrics" && match.pattern != "/admin/v1/server" &&
      match.pattern != "/admin/v1/nodes") {
    co_return problem_response(
        Error(ErrorCode::unavailable, "this server stands by: ask the one that leads, or the balancer before both"));
  }
  Call call{head, std::move(caller), std::move(match.parameters), {}, {}, request};
  HttpResponse response = co_await answer(exchange, *match.route, std::move(call));
  co_return response;
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

Awaitable<HttpResponse> AdminService::answer(Exchange& exchange, const AdminRoute& route, Call call) {
  AuditEntry entry{
      .who = call.caller.id, .roles = call.caller.roles.text(), .target = call.head.path, .request = call.request};
  const auto query = parse_query(call.head.query);
  if (!query) {
    HttpResponse refusal = problem_response(query.error());
    refusal = co_await refused(exchange, &route, std::move(entry), std::move(refusal));
    co_return refusal;
  }
  Problems twice;
  for (const auto& [key, value] : *query) {
    if (!call.query.try_emplace(key, value).second) twice.push_back({"?" + key, "is given twice"});
  }
  if (!twice.empty()) {
    HttpResponse refusal = query_problem(twice);
    refusal = co_await refused(exchange, &route, std::move(entry), std::move(refusal));
    co_return refusal;
  }
  uint64_t body_max = 0;
  if (route.body == AdminBody::json) body_max = kAdminJsonBytesMax;
  if (route.body == AdminBody::file) body_max = settings_.upload_bytes_max;
  Result<Bytes> body = co_await exchange.read_body(body_max);
  if (!body) {
    HttpResponse refusal = problem_response(body.error());
    refusal = co_await refused(exchange, &route, std::move(entry), std::move(refusal));
    co_return refusal;
  }
  call.body = std::move(*body);
  const auto work = [this, &route, &call, &exchange](std::function<void(HttpResponse)> done) {
    pool_.post([this, &route, &call, &exchange, done = std::move(done)] {
      HttpResponse response;
      {
        const LogTrace trace(exchange.trace().trace_id());
        response = carry_out(route, call);
      }
      done(std::move(response));
    });
  };
  HttpResponse response = co_await await_callback<HttpResponse>(work);
  co_return response;
}

HttpResponse AdminService::carry_out(const AdminRoute& route, const Call& call) {
  const auto binding = std::ranges::find(bindings(), route.operation, &Binding::operation);
  COT_ASSERT(binding != bindings().end());
  const Handler handler = binding->handler;
  if (route.action.empty()) {
    if (const Status mine = check_tenant(route, call); !mine) return problem_response(mine.error());
    return (this->*handler)(call);
  }

  AuditEntry entry{.who = call.caller.id,
                   .roles = call.caller.roles.text(),
                   .action = std::string(route.action),
                   .target = call.head.path,
                   .request = call.request};
  if (const Status begun = audit_.write(entry, os::wall_now()); !begun) {
    return problem_response(begun.error().with_context("nothing was done, as the audit log cannot be written"));
  }
  const Status mine = check_tenant(route, call);
  HttpResponse response = mine ? call_once(route, call, handler) : problem_response(mine.error());
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

HttpResponse AdminService::get_server(const Call& call) {
  const Result<TenantView> own_jobs = view_of(call, Owned::job), own_populations = view_of(call, Owned::population);
  if (!own_jobs || !own_populations) return problem_response(own_jobs ? own_populations.error() : own_jobs.error());
  const SchedulerStatus status = parts_.scheduler.status();
  nlohmann::json jobs = nlohmann::json::array();
  for (const SchedulerStatus::Job& job : status.jobs) {
    if (!own_jobs->sees(job.job.value())) continue;
    nlohmann::json entry = {{"job", job.job.value()}};
    if (job.round) {
      entry["round"] = job.round->number;
      entry["attempt"] = job.round->key.attempt.value();
      entry["state"] = to_string(job.round->state);
      entry["selected"] = job.selected;
      entry["accepted"] = job.accepted;
    }
    jobs.push_back(std::move(entry));
  }
  nlohmann::json waiting = nlohmann::json::object();
  for (const auto& [population, count] : status.waiting) {
    if (own_populations->sees(population.value())) waiting[population.value()] = count;
  }
  const Result<uint64_t> devices = parts_.devices.count_devices({.tenant = device_tenant(call.caller)});
  const WallTime now = os::wall_now();
  return json_response({{"version", settings_.version},
                        {"started", rfc3339(started_)},
                        {"uptime_seconds", std::chrono::duration<double>(now - started_).count()},
                        {"ready", ready_.load()},
                        {"leads", leading_.load()},
                        {"devices", devices ? *devices : 0},
                        {"devices_waiting", waiting},
                        {"update_bytes_in_flight", parts_.plane.bytes_in_flight()},
                        {"jobs", jobs}});
}

HttpResponse AdminService::get_metrics(const Call&) {
  HttpResponse response = text_response(parts_.metrics.exposition());
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

HttpResponse AdminService::get_health(const Call&) { return text_response("ok\n"); }

HttpResponse AdminService::get_readiness(const Call&) {
  if (ready_) return text_response("ready\n");
  HttpResponse response = text_response("not ready: starting, standing by or draining\n", 503);
  say_when(response, {});
  return response;
}

}  // namespace coterie
