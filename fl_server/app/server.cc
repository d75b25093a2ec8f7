#include "fl_server/app/server.h"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/admin_api/admin_service.h"
#include "fl_server/app/admin_side.h"
#include "fl_server/app/blob_stores.h"
#include "fl_server/app/device_door.h"
#include "fl_server/app/device_side.h"
#include "fl_server/app/endpoints_file.h"
#include "fl_server/app/file_rotation.h"
#include "fl_server/app/fleet_side.h"
#include "fl_server/app/job_tenants.h"
#include "fl_server/app/leading.h"
#include "fl_server/app/ledger_anchor.h"
#include "fl_server/app/memory_return.h"
#include "fl_server/app/model_news.h"
#include "fl_server/app/model_plane.h"
#include "fl_server/app/network_threads.h"
#include "fl_server/app/observers.h"
#include "fl_server/app/process_limits.h"
#include "fl_server/app/retention_side.h"
#include "fl_server/app/rotated_keys.h"
#include "fl_server/app/round_side.h"
#include "fl_server/app/seen_writer.h"
#include "fl_server/app/server_keys.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/app/serving.h"
#include "fl_server/app/tracing_side.h"
#include "fl_server/device_api/device_service.h"
#include "fl_server/fleet/fleet_member.h"
#include "fl_server/net/http_server.h"
#include "fl_server/retention/retention_loop.h"
#include "fl_server/runtime/device_plane.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/sql_training_store.h"
#include "fl_server/tracing/span_exporter.h"
#include "secure/crypto/random.h"
#include "secure/crypto/self_test.h"
#include "secure/mask/mask_self_test.h"

namespace coterie {
namespace {

constexpr Millis kRotationEvery{10'000};
constexpr Millis kMemoryLookEvery{2'000};
constexpr size_t kIncarnationBytes = 8;

ServerConfig with_threads(ServerConfig config) {
  if (config.threads == 0) config.threads = std::max(1u, std::thread::hardware_concurrency());
  return config;
}

std::vector<RotatedFiles> rotated_files(const ServerKeys& keys, HttpServer& http, ModelPlane* models,
                                        DeviceService& devices, AdminService& admin) {
  const auto take_tls = [&http, models](const TlsContext& tls) {
    http.set_tls(tls);
    if (models != nullptr) models->set_tls(tls);
  };
  return rotated_keys(
      keys,
      {.take_tls = take_tls,
       .take_admin_token = [&admin](const std::string& token) { admin.replace_token(token); },
       .take_old_tickets = [&devices](std::shared_ptr<const MacKey> key) { devices.take_old_tickets(std::move(key)); },
       .take_key_statements = [&devices](const auto& stated) { devices.take_key_statements(stated); }});
}

}  // namespace

// What the server is made of; nothing here runs by itself. Each is made from those above it, and goes before them.
struct Server::Parts {
  ServerConfig config;
  std::unique_ptr<ModelNews> news;  // hears from the observers
  std::unique_ptr<Observers> observers;
  std::unique_ptr<SpanExporter> spans;  // null: nobody collects them. Hears from the observers, and counts there
  std::unique_ptr<ServerKeys> keys;
  std::unique_ptr<ServerStores> stores;
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<RoundSide> rounds;
  std::unique_ptr<DeviceSide> devices;
  std::unique_ptr<FleetSide> fleet;  // null: alone
  std::unique_ptr<DeviceDoor> device_door;
  std::unique_ptr<AdminSide> admin;
  std::unique_ptr<ModelPlane> models;  // null: it answers with none

  static Result<std::unique_ptr<Parts>> build(ServerConfig config, WallTime started);
};

// What makes the parts run. It stands behind them all, so that nothing runs any more when the first of them goes.
struct Server::Running {
  std::unique_ptr<Serving> serving;
  std::unique_ptr<FileRotation> rotation;
  std::unique_ptr<SeenWriter> seen;  // goes after the network, so that it writes all
  std::unique_ptr<NetworkThreads> network;
  std::unique_ptr<MemoryReturn> memory;
  std::unique_ptr<EndpointsFile> endpoints;
  std::unique_ptr<Leading> leading;          // of a fleet, where this one may lead
  std::unique_ptr<RetentionLoop> retention;  // null: of a fleet, where whoever leads has it

  static Result<std::unique_ptr<Running>> begin(Parts& parts, WallTime started,
                                                std::function<void(const std::string&)> on_lost);
};

Server::Server(std::unique_ptr<Parts> parts, std::unique_ptr<Running> running)
    : parts_(std::move(parts)), running_(std::move(running)) {}
Server::~Server() { stop(); }

const std::string& Server::device_url() const { return running_->endpoints->endpoints().device_url; }
const std::string& Server::admin_url() const { return running_->endpoints->endpoints().admin_url; }
const std::string& Server::serving_url() const { return running_->endpoints->endpoints().serving_url; }
const std::string& Server::serving_grpc() const { return running_->endpoints->endpoints().serving_grpc; }
const std::string& Server::ca_file() const { return running_->endpoints->endpoints().ca_file; }
const std::string& Server::admin_token_file() const { return running_->endpoints->endpoints().admin_token_file; }

Result<std::unique_ptr<Server>> Server::start(const ServerConfig& config,
                                              std::function<void(const std::string&)> on_lost) {
  COT_TRY(crypto_self_test());
  COT_TRY(mask_self_test());
  tell_what_does_not_fit(config);
  const WallTime started = os::wall_now();
  COT_ASSIGN(std::unique_ptr<Parts> parts, Parts::build(with_threads(config), started));
  COT_ASSIGN(std::unique_ptr<Running> running, Running::begin(*parts, started, std::move(on_lost)));
  return std::unique_ptr<Server>(new Server(std::move(parts), std::move(running)));
}

// Locals, so that a part cannot be given one that is not there yet, and all go in the right order where one fails.
Result<std::unique_ptr<Server::Parts>> Server::Parts::build(ServerConfig config, WallTime started) {
  const std::string incarnation = to_hex(random_bytes(kIncarnationBytes));
  auto news = std::make_unique<ModelNews>();
  auto observers = std::make_unique<Observers>(incarnation);
  if (config.serving) observers->events.subscribe(*news);
  COT_ASSIGN(auto spans, begin_tracing(config, incarnation, *observers));
  COT_ASSIGN(auto keys, ServerKeys::open(config, started));
  COT_ASSIGN(auto stores, ServerStores::open(config, keys->data));
  COT_TRY(keep_ledger_anchor(stores->training(), keys->data, *keys->signer));
  auto http = std::make_unique<HttpServer>(config.threads, observers->metrics);
  auto rounds = std::make_unique<RoundSide>(config, *keys, *stores, *observers);
  auto devices = std::make_unique<DeviceSide>(config, incarnation, *keys, *stores, *observers, *http);
  COT_ASSIGN(auto fleet, FleetSide::open(config, incarnation,
                                         {.keys = *keys,
                                          .stores = *stores,
                                          .scheduler = rounds->scheduler(),
                                          .devices = *devices,
                                          .observers = *observers,
                                          .http = *http}));
  CohortOwner& cohorts = fleet ? fleet->cohorts() : rounds->scheduler().cohorts();
  COT_ASSIGN(auto device_door, DeviceDoor::open(config, *keys, *stores, *devices, cohorts, *http));
  COT_ASSIGN(auto admin, AdminSide::open(config, started,
                                         {.keys = *keys,
                                          .stores = *stores,
                                          .scheduler = rounds->scheduler(),
                                          .devices = *devices,
                                          .fleet = fleet.get(),
                                          .observers = *observers,
                                          .http = *http}));
  COT_ASSIGN(auto models, ModelPlane::open(config, {.keys = *keys,
                                                    .stores = *stores,
                                                    .observers = *observers,
                                                    .news = *news,
                                                    .fleet = fleet.get(),
                                                    .verify_foreign = admin->verify_foreign()}));
  return std::make_unique<Parts>(Parts{.config = std::move(config),
                                       .news = std::move(news),
                                       .observers = std::move(observers),
                                       .spans = std::move(spans),
                                       .keys = std::move(keys),
                                       .stores = std::move(stores),
                                       .http = std::move(http),
                                       .rounds = std::move(rounds),
                                       .devices = std::move(devices),
                                       .fleet = std::move(fleet),
                                       .device_door = std::move(device_door),
                                       .admin = std::move(admin),
                                       .models = std::move(models)});
}

Result<std::unique_ptr<Server::Running>> Server::Running::begin(Parts& p, WallTime started,
                                                                std::function<void(const std::string&)> on_lost) {
  const bool serves_devices = p.config.serves_devices();
  RoundScheduler& scheduler = p.rounds->scheduler();
  DevicePlane& plane = p.devices->plane();
  AdminService& admin = p.admin->service();
  auto rotation =
      std::make_unique<FileRotation>(rotated_files(*p.keys, *p.http, p.models.get(), p.device_door->service(), admin));
  std::unique_ptr<Serving> serving;
  if (p.fleet) {
    serving = Serving::in_fleet(scheduler, plane, p.fleet->member(), started, serves_devices);
  } else {
    COT_TRY(tell_job_tenants(p.stores->training(), p.stores->admin(), p.observers->events));
    COT_ASSIGN(serving, Serving::alone(scheduler, plane));
    admin.set_leading(true);
  }
  p.device_door->service().set_serving(serves_devices);
  // One that only leads is ready when it does.
  admin.set_ready(serves_devices || p.config.role == ServerRole::serving);
  auto seen = std::make_unique<SeenWriter>(p.stores->directory(), p.config.retention.look_every);
  auto network = std::make_unique<NetworkThreads>(*p.http);
  rotation->start(kRotationEvery);
  auto memory = std::make_unique<MemoryReturn>(
      kMemoryLookEvery,
      [&p] {
        return p.devices->plane().bytes_in_flight() + p.http->held_bytes() + (p.models ? p.models->held_bytes() : 0);
      },
      [&p] { p.device_door->service().free_idle_bodies(); });
  if (p.models) p.models->start();
  const Endpoints endpoints{.device_url = p.device_door->url(),
                            .admin_url = p.admin->url(),
                            .ca_file = p.keys->tls_files.ca,
                            .admin_token_file = p.keys->data.admin_token_path(),
                            .pid = getpid(),
                            .serving_url = p.models ? p.models->url() : std::string(),
                            .serving_token_file = p.models ? p.models->token_file() : std::string(),
                            .serving_grpc = p.models ? p.models->grpc() : std::string()};
  COT_ASSIGN(auto file, EndpointsFile::write(p.keys->data.path("endpoints.json"), endpoints));
  log(LogLevel::info, "server_started", {{"device_url", endpoints.device_url}, {"admin_url", endpoints.admin_url}});
  std::unique_ptr<Leading> leading;
  if (p.stores->leases() != nullptr) {
    const auto on_led = [&admin] {
      admin.set_leading(true);
      admin.set_ready(true);
    };
    leading = std::make_unique<Leading>(
        p.config,
        LeadingParts{.stores = *p.stores, .scheduler = scheduler, .fleet = *p.fleet, .observers = *p.observers},
        Leading::Calls{.on_led = on_led, .on_lost = std::move(on_lost)});
  }
  std::unique_ptr<RetentionLoop> retention = p.fleet ? nullptr : begin_retention(p.config, *p.stores);
  return std::make_unique<Running>(Running{.serving = std::move(serving),
                                           .rotation = std::move(rotation),
                                           .seen = std::move(seen),
                                           .network = std::move(network),
                                           .memory = std::move(memory),
                                           .endpoints = std::move(file),
                                           .leading = std::move(leading),
                                           .retention = std::move(retention)});
}

size_t Server::rotate_files() { return running_->rotation->look(); }

void Server::stop() {
  if (std::exchange(is_stopped_, true)) return;
  Parts& p = *parts_;
  Running& r = *running_;
  p.devices->set_leaving();
  r.rotation->stop();
  log(LogLevel::info, "server_stopping");
  os::crash_point(os::CrashPoint::stop_begun);
  if (r.leading) r.leading->finish_beginning();
  p.admin->service().set_ready(false);
  if (p.fleet) p.fleet->member().drain();
  r.endpoints->remove();
  p.http->stop_accepting();
  r.serving->send_away();
  const Instant until = os::monotonic_now() + p.config.shutdown_max;
  const bool quiet = p.http->wait_until_quiet(p.config.shutdown_max);
  if (p.models) p.models->stop(std::max(Millis(0), std::chrono::floor<Millis>(until - os::monotonic_now())));
  os::crash_point(os::CrashPoint::stop_drained);
  {
    const StoreTimeLimit limit(p.stores->s3(), p.config.shutdown_max);
    r.serving->stop_rounds(p.config.shutdown_max);
    if (r.leading) r.leading->stop_lead();
    if (r.retention) r.retention->stop();
  }
  p.http->stop();
  if (p.fleet) p.fleet->stop_asking();
  if (r.leading) r.leading->give_lease_back();  // after the last write: another leads at once
  r.serving->leave_fleet();
  os::crash_point(os::CrashPoint::stop_done);
  log(LogLevel::info, "server_stopped", {{"all_requests_finished", quiet}});
}

}  // namespace coterie
