#include "fl_server/app/admin_side.h"

#include <utility>
#include <vector>

#include "base/os/clock.h"
#include "fl_server/admin_api/admin_service.h"
#include "fl_server/app/admin_caller.h"
#include "fl_server/app/alarm_bell.h"
#include "fl_server/app/device_side.h"
#include "fl_server/app/fleet_side.h"
#include "fl_server/app/node_list.h"
#include "fl_server/app/observers.h"
#include "fl_server/app/provider_sign_in.h"
#include "fl_server/app/server_keys.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/config/endpoints.h"
#include "fl_server/config/server_config.h"
#include "fl_server/evaluation/model_evaluator.h"
#include "fl_server/events/event_reader.h"
#include "fl_server/net/http_server.h"
#include "fl_server/oidc/bearer_verifier.h"
#include "fl_server/oidc/code_exchange.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/sql_disk_use.h"
#include "fl_server/store/sql_training_store.h"
#include "fl_server/vertical_jobs/coordinator_jobs.h"
#include "fl_server/vertical_jobs/job_follower.h"

namespace coterie {

AdminSide::AdminSide() = default;
AdminSide::~AdminSide() {
  // The service's end waits for its handlers, and the follower's for its question.
  if (sign_in_) sign_in_->cancel();
  if (vertical_) vertical_->cancel();
}

AdminServiceParts AdminSide::service_parts(const ServerConfig& config, WallTime started, AdminSideParts parts) {
  AdminServiceParts all{.scheduler = parts.scheduler,
                        .plane = parts.devices.plane(),
                        .jobs = parts.stores.training(),
                        .rounds = parts.stores.training(),
                        .ledger = parts.stores.training(),
                        .models = parts.stores.training(),
                        .canaries = parts.stores.training(),
                        .gates = parts.stores.training(),
                        .devices = parts.stores.devices(),
                        .directory = parts.stores.directory(),
                        .blobs = parts.stores.blobs(),
                        .retention = parts.stores.training(),
                        .unnamed = parts.stores.unnamed(),
                        .admin = parts.stores.admin(),
                        .metrics = parts.observers.metrics,
                        .events = parts.observers.events,
                        .nodes = {},
                        .leader = {},
                        .disk_use = [&use = parts.stores.disk_use()] { return use.read(os::monotonic_now()); },
                        .last_disk_use = [&use = parts.stores.disk_use()] { return use.last(); },
                        .check_model = &check_model,
                        .evaluate = &evaluate_model,
                        .check_training = &check_training,
                        .check_evaluated = &check_evaluated_model};
  if (parts.fleet != nullptr) {
    all.nodes = [&store = *parts.stores.fleet()] { return fleet_nodes(store); };
    all.leader = [&store = *parts.stores.fleet()] { return fleet_leader(store); };
    all.remote_events = [fleet = parts.fleet](EventReader reader) {
      return fleet->events_of_leader(std::move(reader));
    };
  } else {
    all.leader = [name = config.node]() -> Result<std::string> { return name; };
    all.nodes = [parts, name = config.node, started]() -> Result<std::vector<NodeRow>> {
      const auto load = [&](uint64_t waiting) { return parts.devices.load(waiting); };
      return std::vector<NodeRow>{lone_node(name, started, parts.devices.is_leaving(), parts.scheduler.status(), load)};
    };
  }
  all.round_trace = [&traces = parts.observers.traces](const JobId& job, std::optional<uint64_t> round) {
    return traces.file(job, round);
  };
  all.alarms = [&bell = *alarms_] { return bell.alarms(); };
  all.verify_foreign = verify_foreign_;
  all.provider = sign_in_.get();
  all.vertical = vertical_.get();
  if (vertical_follower_) {
    all.vertical_job_changed = [&follower = *vertical_follower_] { follower.look_now(); };
  }
  return all;
}

Result<std::unique_ptr<AdminSide>> AdminSide::open(const ServerConfig& config, WallTime started, AdminSideParts parts) {
  std::unique_ptr<AdminSide> side(new AdminSide());
  if (config.oidc) {
    side->oidc_ = std::make_unique<BearerVerifier>(*config.oidc);
    const bool has_tenant = !config.oidc->tenant_claim.empty();
    side->verify_foreign_ = [&oidc = *side->oidc_, has_tenant](std::string_view token,
                                                               WallTime now) -> Result<AdminCaller> {
      COT_ASSIGN(const OidcIdentity identity, oidc.verify(token, now));
      return caller_of(identity, has_tenant);
    };
    COT_ASSIGN(side->sign_in_, make_provider_sign_in(*config.oidc, parts.keys.ticket, *side->oidc_));
  }
  if (config.vertical && config.may_lead()) {
    side->vertical_ = std::make_unique<CoordinatorJobs>(*config.vertical);
    side->vertical_follower_ =
        std::make_unique<VerticalJobFollower>(*side->vertical_, parts.observers.events, config.vertical->look_every);
  }
  side->alarms_ = std::make_unique<AlarmBell>(parts.observers.metrics);
  AdminServiceSettings settings{.version = kVersion,
                                .upload_bytes_max = config.upload_bytes_max,
                                .event_streams_max = config.event_streams_max,
                                .quotas = config.quotas};
  if (side->sign_in_) settings.pool_threads += CodeExchange::kAtOnceMax;      // for handlers that wait for the provider
  if (side->vertical_) settings.pool_threads += CoordinatorJobs::kAtOnceMax;  // likewise for the coordinator
  side->service_ = std::make_unique<AdminService>(std::move(settings), side->service_parts(config, started, parts),
                                                  parts.keys.admin_token);
  const ListenConfig& listen = config.admin;
  COT_ASSIGN(const uint16_t port,
             parts.http.listen({"admin", listen.address, listen.port, listen.limits}, parts.keys.tls, *side->service_));
  side->url_ = url_of(listen.address, port);
  return side;
}

}  // namespace coterie
