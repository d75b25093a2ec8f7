// The admin plane's frame: routing, authorisation, and the answers that concern no object. Objects: admin_jobs.cc,
// admin_models.cc, admin_devices.cc.
#include "fl_server/http/admin_service.h"

#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "fl_server/http/admin_json.h"
#include "fl_server/http/problem.h"
#include "secure/crypto/secret.h"
#include "secure/identity/bearer_token.h"

namespace coterie {
namespace {

constexpr uint64_t kJsonBytesMax = 1 << 20;
constexpr uint64_t kUpload = UINT64_MAX;  // stands for AdminServiceSettings::upload_bytes_max

HttpResponse text_response(std::string_view text, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body.assign(text.begin(), text.end());
  return response;
}

// Matches "/a/{x}/b:verb" segment by segment; parameters have no '/', and no ':' where the pattern goes on with one.
bool match(std::string_view pattern, std::string_view path, std::map<std::string, std::string>& parameters) {
  while (!pattern.empty()) {
    if (pattern[0] != '{') {
      if (path.empty() || path[0] != pattern[0]) return false;
      pattern.remove_prefix(1);
      path.remove_prefix(1);
      continue;
    }
    const size_t close = pattern.find('}');
    const std::string name(pattern.substr(1, close - 1));
    pattern.remove_prefix(close + 1);
    const std::string_view value = path.substr(0, path.find_first_of("/:"));
    if (value.empty()) return false;
    parameters[name] = value;
    path.remove_prefix(value.size());
  }
  return path.empty();
}

}  // namespace

const std::vector<AdminService::Route>& AdminService::routes() {
  using S = AdminService;
  static const std::vector<Route> table = {
      {"GET", "/healthz", &S::get_health, Access::open},
      {"GET", "/readyz", &S::get_readiness, Access::open},
      {"GET", "/metrics", &S::get_metrics},
      {"GET", "/admin/v1/server", &S::get_server},
      {"GET", "/admin/v1/jobs", &S::list_jobs},
      {"POST", "/admin/v1/jobs", &S::create_job, Access::token, kJsonBytesMax},
      {"GET", "/admin/v1/jobs/{job}", &S::get_job},
      {"POST", "/admin/v1/jobs/{job}:pause", &S::pause_job},
      {"POST", "/admin/v1/jobs/{job}:resume", &S::resume_job},
      {"POST", "/admin/v1/jobs/{job}:cancel", &S::cancel_job},
      {"GET", "/admin/v1/jobs/{job}/rounds", &S::list_rounds},
      {"GET", "/admin/v1/jobs/{job}/models", &S::list_models},
      {"GET", "/admin/v1/jobs/{job}/models/{version}", &S::get_model},
      {"GET", "/admin/v1/jobs/{job}/models/{version}/content", &S::get_model_content},
      {"POST", "/admin/v1/models", &S::upload_model, Access::token, kUpload},
      {"POST", "/admin/v1/datasets", &S::upload_dataset, Access::token, kUpload},
      {"GET", "/admin/v1/devices", &S::list_devices},
      {"POST", "/admin/v1/devices/{device}:revoke", &S::revoke_device},
      {"GET", "/admin/v1/enrollment-tokens", &S::list_tokens},
      {"POST", "/admin/v1/enrollment-tokens", &S::create_token, Access::token, kJsonBytesMax},
      {"DELETE", "/admin/v1/enrollment-tokens/{token}", &S::remove_token},
  };
  return table;
}

AdminService::AdminService(AdminServiceSettings settings, AdminServiceParts parts, const std::string& token)
    : settings_(std::move(settings)),
      parts_(std::move(parts)),
      token_digest_(token_digest(token)),
      started_(os::wall_now()) {
  pool_.start(settings_.pool_threads);
}

AdminService::~AdminService() { pool_.stop(); }

HttpResponse AdminService::refuse(const Error& error, int status) { return problem_response(error, {}, status); }

bool AdminService::is_authorized(const RequestHead& head) const {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view value = head.header("authorization");
  if (!value.starts_with(kBearer)) return false;
  return equal_in_constant_time(token_digest(value.substr(kBearer.size())).view(), token_digest_.view());
}

Awaitable<HttpResponse> AdminService::handle(Exchange& exchange, std::string_view& route) {
  const RequestHead& head = exchange.head();
  const std::string_view method = head.method == "HEAD" ? std::string_view("GET") : std::string_view(head.method);
  Call call{head, {}, {}, {}};
  const Route* found = nullptr;
  std::string allowed;
  for (const Route& candidate : routes()) {
    std::map<std::string, std::string> parameters;
    if (!match(candidate.pattern, head.path, parameters)) continue;
    route = candidate.pattern;
    if (candidate.method != method) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(candidate.method);
      continue;
    }
    found = &candidate;
    call.path = std::move(parameters);
    break;
  }
  // Who may not ask is told nothing, not even what exists.
  if ((found == nullptr || found->access == Access::token) && !is_authorized(head)) {
    co_return problem_response(Error(ErrorCode::unauthenticated, "a valid bearer token is needed: Authorization: Bearer <token>"));
  }
  if (found == nullptr && allowed.empty()) {
    route = "unknown";
    co_return problem_response(Error(ErrorCode::not_found, "no such route: " + head.path));
  }
  if (found == nullptr) {
    HttpResponse response = problem_response(Error(ErrorCode::invalid_argument, "this route takes " + allowed), {}, 405);
    response.headers.emplace_back("Allow", allowed);
    co_return response;
  }
  const auto query = parse_query(head.query);
  if (!query) co_return problem_response(query.error());
  for (const auto& [key, value] : *query) call.query[key] = value;
  const uint64_t body_max = found->body_bytes_max == kUpload ? settings_.upload_bytes_max : found->body_bytes_max;
  Result<Bytes> body = co_await exchange.read_body(body_max);
  if (!body) co_return problem_response(body.error());
  call.body = std::move(*body);
  const auto work = [this, found, &call](std::function<void(HttpResponse)> done) {
    pool_.post([this, found, &call, done = std::move(done)] { done((this->*found->handler)(call)); });
  };
  HttpResponse response = co_await await_callback<HttpResponse>(work);
  co_return response;
}

HttpResponse AdminService::get_server(const Call&) {
  const CoordinatorStatus status = parts_.coordinator.status();
  nlohmann::json jobs = nlohmann::json::array();
  for (const CoordinatorStatus::Job& job : status.jobs) {
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
  for (const auto& [population, count] : status.waiting) waiting[population.value()] = count;
  const Result<uint64_t> devices = parts_.devices.count_devices();
  const WallTime now = os::wall_now();
  return json_response({{"version", settings_.version},
                        {"started", rfc3339(started_)},
                        {"uptime_seconds", std::chrono::duration<double>(now - started_).count()},
                        {"ready", ready_.load()},
                        {"devices", devices ? *devices : 0},
                        {"devices_waiting", waiting},
                        {"update_bytes_in_flight", status.bytes_in_flight},
                        {"jobs", jobs}});
}

HttpResponse AdminService::get_metrics(const Call&) {
  HttpResponse response = text_response(parts_.metrics.exposition());
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

HttpResponse AdminService::get_health(const Call&) { return text_response("ok\n"); }

HttpResponse AdminService::get_readiness(const Call&) {
  return ready_ ? text_response("ready\n") : text_response("not ready: starting or draining\n", 503);
}

}  // namespace coterie
