#include "fl_server/app/model_plane.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/app/fleet_side.h"
#include "fl_server/app/model_gate.h"
#include "fl_server/app/model_news.h"
#include "fl_server/app/observers.h"
#include "fl_server/app/remote_news.h"
#include "fl_server/app/server_keys.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/config/endpoints.h"
#include "fl_server/config/server_config.h"
#include "fl_server/events/event_reader.h"
#include "fl_server/fleet/fleet_member.h"
#include "fl_server/net/http_server.h"
#include "fl_server/serving/background_loader.h"
#include "fl_server/serving/grpc/grpc_door.h"
#include "fl_server/serving/model_follower.h"
#include "fl_server/serving/model_server.h"
#include "fl_server/serving/steps_file.h"
#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_training_store.h"
#include "secure/identity/key_file.h"

namespace coterie {
namespace {

constexpr Millis kLookEvery{5'000};  // for what nobody tells: a version or a job was removed
constexpr Millis kAskEvery{500};     // whoever leads, while its events are not told here

ModelServerSettings settings_of(const ServingConfig& config, ModelAccess& access) {
  ModelServerSettings settings{.workers = config.workers,
                               .batch_max = config.batch_max,
                               .waiting_max = config.waiting_max,
                               .version_bytes_max = config.version_bytes_max,
                               .bytes_max = config.bytes_max};
  settings.service.version = kVersion;
  settings.service.body_bytes_max = config.body_bytes_max;
  settings.service.router.canary_percent = config.canary_percent;
  settings.service.router.has_shadow = config.has_shadow;
  settings.service.router.wait_max = config.wait_max;
  settings.service.access = &access;
  return settings;
}

Result<FollowedJobs> followed_of(const ServingConfig& config) {
  FollowedJobs followed{.jobs = config.jobs, .populations = config.populations, .models_max = config.models_max};
  for (const auto& [name, path] : config.steps) {
    auto steps = read_steps_file(path);
    if (!steps) return steps.error().with_context("serving.steps." + name);
    followed.steps.emplace(name, *std::move(steps));
  }
  return followed;
}

GrpcDoorSettings grpc_of(const ServingConfig& config, const TlsFiles& files, ModelAccess& access) {
  return {.version = kVersion,
          .address = config.listen.address,
          .port = *config.grpc_port,
          .certificate_file = files.certificate,
          .key_file = files.key,
          .token = {},
          .access = &access,
          .message_bytes_max = config.body_bytes_max,
          .limits = {}};
}

// Events of every tenant; the serving plane knows whose each model is.
Result<std::shared_ptr<EventSource>> events_of_leader(FleetSide& fleet) {
  const std::string owner = fleet.member().owner_url();
  if (!owner.empty() && owner == fleet.member().url())
    return Error(ErrorCode::unavailable, "this node leads, and tells its events itself");
  return fleet.events_of_leader(EventReader{.of = OfTenant{std::string(kEveryTenant)}});
}

}  // namespace

ModelPlane::ModelPlane(ModelNews& news) : news_(news) {}
ModelPlane::~ModelPlane() { stop(Millis(0)); }

Result<std::unique_ptr<ModelPlane>> ModelPlane::open(const ServerConfig& config, ModelPlaneParts parts) {
  if (!config.serving) return std::unique_ptr<ModelPlane>();
  const ServingConfig& serving = *config.serving;
  std::unique_ptr<ModelPlane> plane(new ModelPlane(parts.news));
  plane->token_file_ = parts.keys.data.path("serving-token");
  COT_ASSIGN(const std::string token, load_or_create_token(plane->token_file_));
  ServerStores& stores = parts.stores;
  plane->gate_ = std::make_unique<ModelGate>(stores.admin(), token, std::move(parts.verify_foreign));
  plane->server_ =
      std::make_unique<ModelServer>(settings_of(serving, *plane->gate_), std::as_const(parts.observers.metrics));
  plane->server_->set_ready(false);
  plane->loader_ = std::make_unique<BackgroundLoader>(stores.blobs(), serving.bytes_max, *plane->server_,
                                                      [&news = parts.news] { news.load_ended(); });
  COT_ASSIGN(FollowedJobs followed, followed_of(serving));
  plane->follower_ = std::make_unique<ModelFollower>(
      std::move(followed),
      FollowedStores{.jobs = stores.training(), .models = stores.training(), .admin = stores.admin()}, *plane->loader_,
      *plane->server_);
  if (parts.fleet != nullptr) {
    plane->remote_ =
        std::make_unique<RemoteNews>([fleet = parts.fleet] { return events_of_leader(*fleet); }, parts.news);
  }
  plane->http_ = std::make_unique<HttpServer>(serving.threads, parts.observers.metrics);
  const ListenConfig& listen = serving.listen;
  COT_ASSIGN(const uint16_t port, plane->http_->listen({"serving", listen.address, listen.port, listen.limits},
                                                       parts.keys.tls, plane->server_->service()));
  plane->url_ = url_of(listen.address, port);
  if (serving.grpc_port) {
    auto door = GrpcDoor::open(grpc_of(serving, parts.keys.tls_files, *plane->gate_), *plane->server_);
    if (!door) return door.error().with_context("serving.grpc_port");
    plane->grpc_door_ = *std::move(door);
    plane->grpc_ = authority_of(listen.address, plane->grpc_door_->port());
  }
  return plane;
}

void ModelPlane::start() {
  http_->start();
  thread_ = std::thread([this] { follow(); });
}

void ModelPlane::set_tls(const TlsContext& tls) { http_->set_tls(tls); }
uint64_t ModelPlane::held_bytes() const { return http_->held_bytes(); }

void ModelPlane::follow() {
  while (!news_.is_closed()) {
    const Instant next_look = os::monotonic_now() + kLookEvery;
    followed(follower_->look(os::monotonic_now()));
    while (!news_.is_closed() && os::monotonic_now() < next_look) {
      if (wait_for_news(next_look)) break;
    }
  }
}

// Ready is a server that has tried everything once, and stays it: what comes later takes the place of what is there.
void ModelPlane::followed(const Status& status) {
  if (!status) log(LogLevel::warning, "models_not_followed", {{"error", status.error().message()}});
  if (follower_->is_settled()) server_->set_ready(true);
}

// Whether there is something to look for. Goes on meanwhile with what has been loaded.
bool ModelPlane::wait_for_news(Instant until) {
  Millis patience = std::chrono::ceil<Millis>(until - os::monotonic_now());
  if (remote_) {
    // Not at once where a stream has ended: whoever led may be gone, and its place still be said to be there.
    if (const Instant now = os::monotonic_now(); now >= begins_at_) {
      (void)remote_->begin();
      begins_at_ = now + kAskEvery;
    }
    patience = std::min(patience, kAskEvery);
  }
  const ModelNews::Woken woken = news_.wait(patience);
  const bool was_told = woken.has_mail && remote_->read();
  if (was_told) log(LogLevel::debug, "models_told_by_leader");
  const bool has_news = was_told || woken.has_news;
  if (woken.has_load && !has_news) followed(follower_->go_on(os::monotonic_now()));
  return has_news;
}

void ModelPlane::stop(Millis patience) {
  if (std::exchange(is_stopped_, true)) return;
  news_.close();
  if (thread_.joinable()) thread_.join();
  if (loader_) loader_->stop();
  if (http_) {
    const Instant until = os::monotonic_now() + patience;
    http_->stop_accepting();
    if (grpc_door_) grpc_door_->stop(patience);
    (void)http_->wait_until_quiet(std::max(until - os::monotonic_now(), Millis(0)));
  }
  if (server_) server_->stop();
  if (gate_) gate_->stop();
  if (http_) http_->stop();
}

}  // namespace coterie
