// AdminService: the operators' plane. Its own listener, loopback by default; bearer token; JSON; every error is a
// problem document (RFC 9457) that names all problems at once.
//
// Routes are one table (fl_server/admin/admin_routes.cc): method, pattern, operation, who may. Here each operation has
// its handler: a plain function that may block; handlers run on a small pool, never on a network thread.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fl_server/admin/admin_authenticator.h"
#include "fl_server/admin/audit_log.h"
#include "fl_server/admin/route.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/net/exchange.h"
#include "fl_server/runtime/device_plane.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/runtime/work_pool.h"
#include "fl_server/store/device_directory.h"
#include "fl_server/store/model_store.h"
#include "scheduler/fleet/node_report.h"

namespace coterie {

struct AdminServiceSettings {
  std::string version;
  uint64_t upload_bytes_max = 4ull << 30;  // of a model or a data set
  size_t pool_threads = 2;
  uint32_t event_streams_max = 16;  // at a time
};

struct AdminServiceParts {
  RoundScheduler& scheduler;
  DevicePlane& plane;
  JobStore& jobs;
  RoundStore& rounds;
  LedgerStore& ledger;
  ModelStore& models;
  DeviceStore& devices;
  DeviceDirectory& directory;
  BlobStore& blobs;
  AdminStore& admin;
  Metrics& metrics;
  std::function<Result<std::vector<NodeRow>>()> nodes;    // of the fleet; may block
  std::function<Status(const Bytes& model)> check_model;  // beyond the codec: shapes and ops; may be empty
  EvaluateModel evaluate;                                 // may be empty
  // The caller behind a token that is not ours but an identity provider's. Must not block. May be empty: nobody.
  std::function<Result<AdminCaller>(std::string_view token, WallTime now)> verify_foreign = {};
};

class AdminService final : public HttpService {
 public:
  // `token` is that of the data directory.
  AdminService(AdminServiceSettings settings, AdminServiceParts parts, const std::string& token);
  ~AdminService() override;

  // internal unless every operation of the table has one handler, and every handler an operation. Ask before serving.
  static Status check_handlers();

  Awaitable<HttpResponse> handle(Exchange& exchange, std::string_view& route) override;
  HttpResponse refuse(const Error& error, int status) override;

  // Another token of the data directory; thread-safe.
  void replace_token(const std::string& token);

  // What readiness answers; false while starting, standing by and draining.
  void set_ready(bool ready) { ready_ = ready; }
  // While another server leads: routes that look at jobs, or change anything, are for that one to answer.
  void set_leading(bool leading) { leading_ = leading; }

 private:
  // A request as a handler sees it.
  struct Call {
    const RequestHead& head;
    AdminCaller caller;
    std::map<std::string, std::string> path;  // the pattern's parameters
    std::map<std::string, std::string> query;
    Bytes body;
    std::string request;  // its id in the audit log; empty for what only reads
  };
  using Handler = HttpResponse (AdminService::*)(const Call& call);
  struct Binding {
    std::string_view operation;
    Handler handler;
  };
  static std::span<const Binding> bindings();

  // The caller behind the value of the Authorization header. Named tokens that are not remembered are verified on the
  // pool.
  Awaitable<Result<AdminCaller>> authenticate(std::string authorization);
  Awaitable<HttpResponse> answer(Exchange& exchange, const AdminRoute& route, Call call);
  // On the pool: the handler, and before and after it the records of the audit log if the route has an action.
  HttpResponse carry_out(const AdminRoute& route, const Call& call);
  // ---- Tenants (admin_tenants.cc): a caller of one sees its own, and is told of others' that there is no such thing.
  struct TenantView {
    std::string tenant;  // of the caller
    std::map<std::string, std::string> owners;
    bool sees(const std::string& name) const;
  };
  // permission_denied: the route is of the whole server. not_found: what the path names is another tenant's.
  Status check_tenant(const AdminRoute& route, const Call& call);
  Result<TenantView> view_of(const Call& call, Owned kind);
  Result<std::string> owner_of(Owned kind, const std::string& name);
  // Tenant of a new object: `wanted`, else the caller's. Adds a problem if the caller may not create objects there.
  static Result<std::string> tenant_for(const Call& call, const std::string& wanted, Problems& problems,
                                        const std::string& pointer);
  // Makes sure that the tenant has this population; not_found: another has it.
  Status claim_population(const Population& population, const std::string& tenant);

  // The handler, or the answer that it gave to the first request of this Idempotency-Key.
  HttpResponse call_once(const AdminRoute& route, const Call& call, Handler handler);
  // Writes that this was refused, if the route has an action; gives back `refusal`, with the request's id.
  Awaitable<HttpResponse> refused(Exchange& exchange, const AdminRoute* route, AuditEntry entry, HttpResponse refusal);

  HttpResponse get_server(const Call& call);
  HttpResponse list_nodes(const Call& call);
  HttpResponse list_jobs(const Call& call);
  HttpResponse create_job(const Call& call);
  HttpResponse get_job(const Call& call);
  HttpResponse pause_job(const Call& call);
  HttpResponse resume_job(const Call& call);
  HttpResponse cancel_job(const Call& call);
  HttpResponse change_job(const Call& call, JobState to);
  Result<nlohmann::json> show_job(const JobRecord& job);
  // The revision that a change of this job must find, as its If-Match says: none without one, 0 (which no job has) if
  // it names another state than the present one. The store compares again, and sets.
  Result<std::optional<uint64_t>> expected_revision(const Call& call, const JobId& id);
  // The answer to a change that the store has refused: 412 if the job has another revision than was expected.
  HttpResponse not_changed(const JobId& id, const Error& error, std::optional<uint64_t> expected);
  HttpResponse list_rounds(const Call& call);
  HttpResponse upload_model(const Call& call);
  HttpResponse upload_dataset(const Call& call);
  HttpResponse list_models(const Call& call);
  HttpResponse get_model(const Call& call);
  HttpResponse get_model_content(const Call& call);
  HttpResponse promote_model(const Call& call);
  HttpResponse roll_back_model(const Call& call);
  HttpResponse release_model(const Call& call, std::optional<ModelVersion> version);  // none: roll back
  HttpResponse list_ledger(const Call& call);
  HttpResponse stream_events(const Call& call);
  HttpResponse list_devices(const Call& call);
  HttpResponse revoke_device(const Call& call);
  HttpResponse list_tokens(const Call& call);
  HttpResponse create_token(const Call& call);
  HttpResponse remove_token(const Call& call);
  HttpResponse list_audit(const Call& call);
  HttpResponse list_admin_tokens(const Call& call);
  HttpResponse create_admin_token(const Call& call);
  HttpResponse remove_admin_token(const Call& call);
  HttpResponse get_metrics(const Call& call);
  HttpResponse get_health(const Call& call);
  HttpResponse get_readiness(const Call& call);

  AdminServiceSettings settings_;
  AdminServiceParts parts_;
  AdminAuthenticator authenticator_;
  AuditLog audit_;
  WallTime started_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> leading_{false};
  std::shared_ptr<std::atomic<uint32_t>> streams_ = std::make_shared<std::atomic<uint32_t>>(0);  // of events, open
  WorkPool pool_;
};

}  // namespace coterie
