#include "fl_server/app/server.h"

#include <unistd.h>

#include <optional>
#include <thread>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/admin_api/admin_service.h"
#include "fl_server/admin_api/event_reader.h"
#include "fl_server/app/blob_stores.h"
#include "fl_server/app/data_directory.h"
#include "fl_server/app/file_rotation.h"
#include "fl_server/app/version.h"
#include "fl_server/config/endpoints.h"
#include "fl_server/device_api/device_service.h"
#include "fl_server/evaluation/model_evaluator.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/events/log_subscriber.h"
#include "fl_server/events/metrics_subscriber.h"
#include "fl_server/fleet/cohort_router.h"
#include "fl_server/fleet/fleet_lead.h"
#include "fl_server/fleet/fleet_member.h"
#include "fl_server/fleet/fleet_text.h"
#include "fl_server/fleet/peer_client.h"
#include "fl_server/fleet/peer_service.h"
#include "fl_server/fleet/remote_cohorts.h"
#include "fl_server/fleet/remote_events.h"
#include "fl_server/net/http_server.h"
#include "fl_server/oidc/bearer_verifier.h"
#include "fl_server/runtime/device_plane.h"
#include "fl_server/runtime/leadership.h"
#include "fl_server/runtime/overload_guard.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/sql/postgres.h"
#include "fl_server/store/sql/sqlite.h"
#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_device_store.h"
#include "fl_server/store/sql_fleet_store.h"
#include "fl_server/store/sql_lease_store.h"
#include "fl_server/store/sql_training_store.h"
#include "secure/crypto/random.h"
#include "secure/crypto/self_test.h"
#include "secure/mask/mask_self_test.h"

namespace coterie {
namespace {

constexpr size_t kDevicesCached = 100'000;
constexpr uint64_t kConninfoBytesMax = 16'384;
constexpr Millis kOrphanAgeMin{3'600'000};  // of a fleet: a batch is committed within minutes, or never
constexpr const char* kDevicePlane = "device";
constexpr Millis kRotationEvery{10'000};
constexpr const char* kLead = "scheduler";  // the lease of whoever leads

std::string url_of(const std::string& address, uint16_t port) {
  const bool any = address == "0.0.0.0" || address == "::";
  const std::string host = any ? "127.0.0.1" : address.find(':') != std::string::npos ? "[" + address + "]" : address;
  return "https://" + host + ":" + std::to_string(port);
}

Result<Database> open_database(const ServerConfig& config, const DataDirectory& data) {
  const StoreConfig& store = config.store;
  if (!store.is_shared()) return open_sqlite(data.path("coterie.sqlite3"));
  COT_ASSIGN(const Bytes conninfo, os::read_file(store.conninfo_file, kConninfoBytesMax));
  PostgresSettings settings{.conninfo = std::string(as_text(conninfo)), .schema = store.schema};
  while (!settings.conninfo.empty() && settings.conninfo.back() == '\n') settings.conninfo.pop_back();
  settings.statement_max = store.statement_max;
  settings.lock_max = store.lock_max;
  return open_postgres(settings);
}

// Somebody of the identity provider, with the roles that its role_map gives him. Without a tenant_claim he belongs to
// all.
Result<AdminCaller> caller_of(const OidcIdentity& identity, bool has_tenant) {
  AdminCaller caller{.id = "oidc:" + identity.subject, .roles = {}};
  if (has_tenant) {
    if (!is_tenant_name(identity.tenant)) {
      return Error(ErrorCode::permission_denied,
                   "the tenant in this token is not a tenant's name: 1 to 64 of a-z, 0-9, '-', '_' and '.'");
    }
    caller.tenant = identity.tenant;
  }
  for (const std::string& name : identity.roles) {
    if (const std::optional<Role> role = role_from_name(name)) caller.roles.insert(*role);
  }
  return caller;
}

// The one that leads has a job's events: asked over the peer plane.
Result<std::shared_ptr<EventSource>> remote_events_of(const FleetMember& member, PeerClient& client,
                                                      EventReader reader) {
  const std::string owner = member.owner_url();
  if (owner.empty())
    return Error(ErrorCode::unavailable, "nobody leads now, as far as is known: ask again in a moment");
  return std::shared_ptr<EventSource>(
      std::make_shared<RemoteEvents>(client, owner,
                                     RemoteEvents::Reader{.job = std::move(reader.job),
                                                          .population = std::move(reader.population),
                                                          .is_known = reader.is_over,
                                                          .read = reader.read ? reader.read->text() : std::string(),
                                                          .place = std::move(reader.place)}));
}

}  // namespace

// In the order of construction: what comes later uses what comes before, and goes first.
struct Server::Parts {
  Parts(const ServerConfig& c, DataDirectory d) : config(c), data(std::move(d)) {}

  ServerConfig config;
  DataDirectory data;
  Metrics metrics{kVersion};
  LogSubscriber log_subscriber;
  MetricsSubscriber metrics_subscriber{metrics};
  std::optional<EventHub> events;
  std::unique_ptr<SqlTrainingStore> training;
  std::unique_ptr<SqlDeviceStore> devices;
  std::unique_ptr<SqlAdminStore> admin;
  std::unique_ptr<SqlTrainingStore> plane_training;  // of a shared store: accepts updates whoever leads
  std::unique_ptr<SqlLeaseStore> leases;             // of a shared store
  std::unique_ptr<SqlFleetStore> fleet;              // of a shared store
  BlobStores stores;
  std::optional<DeviceDirectory> directory;
  std::optional<MacKey> ticket_key;
  std::unique_ptr<Signer> signer;
  std::optional<MacKey> noise_key;
  std::optional<RoundNoiseMaker> noise;
  std::optional<Finalizer> finalizer;
  std::optional<BearerVerifier> oidc;
  std::optional<PeerEvents> peer_events;  // of a fleet; connections that end with http use it
  std::optional<HttpServer> http;
  std::optional<DevicePlane> plane;
  std::optional<OverloadGuard> guard;
  std::optional<RoundScheduler> scheduler;
  std::optional<FleetMember> member;  // of a fleet; so are the next three
  std::unique_ptr<PeerClient> peer_client;
  std::optional<RemoteCohorts> remote_cohorts;
  std::optional<CohortRouter> cohorts;
  std::optional<FleetLead> lead;  // once this one leads a fleet
  std::optional<DeviceService> device_service;
  std::optional<PeerService> peer_service;
  std::optional<AdminService> admin_service;
  Endpoints endpoints;
  std::function<void(const std::string&)> on_lost;
  WorkLoop leader;  // begins to lead, while the lease goes on being renewed
  std::optional<Leadership> leadership;
  WallTime started{};
  std::optional<FileRotation> rotation;
  bool stopped = false;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() { stop(); }

const std::string& Server::device_url() const { return parts_->endpoints.device_url; }
const std::string& Server::admin_url() const { return parts_->endpoints.admin_url; }
const std::string& Server::ca_file() const { return parts_->endpoints.ca_file; }
const std::string& Server::admin_token_file() const { return parts_->endpoints.admin_token_file; }

Result<std::unique_ptr<Server>> Server::start(const ServerConfig& config,
                                              std::function<void(const std::string&)> on_lost) {
  COT_TRY(crypto_self_test());
  COT_TRY(mask_self_test());
  COT_ASSIGN(DataDirectory data, DataDirectory::open(config.data_dir, config.keys_dir));
  auto owned = std::make_unique<Parts>(config, std::move(data));
  Parts& p = *owned;
  p.started = os::wall_now();
  const std::string incarnation = to_hex(random_bytes(8));
  p.events.emplace(incarnation);
  p.events->subscribe(p.log_subscriber);
  p.events->subscribe(p.metrics_subscriber);
  const size_t threads = config.threads > 0 ? config.threads : std::max(1u, std::thread::hardware_concurrency());

  COT_ASSIGN(MacKey ticket_key, p.data.ticket_key());
  p.ticket_key = std::move(ticket_key);
  COT_ASSIGN(MacKey noise_key, p.data.noise_key());
  p.noise_key = std::move(noise_key);
  p.noise.emplace(*p.noise_key);
  COT_ASSIGN(p.signer, p.data.signer());
  COT_ASSIGN(const std::string admin_token, p.data.admin_token());
  COT_ASSIGN(const TlsFiles tls_files, p.data.tls_files(config.tls, os::wall_now()));
  COT_ASSIGN(const TlsContext tls, make_server_tls(tls_files.certificate, tls_files.key));
  p.endpoints.ca_file = tls_files.ca;
  p.endpoints.admin_token_file = p.data.admin_token_path();

  COT_ASSIGN(p.training, SqlTrainingStore::open(open_database(config, p.data)));
  COT_ASSIGN(p.devices, SqlDeviceStore::open(open_database(config, p.data)));
  COT_ASSIGN(p.admin, SqlAdminStore::open(open_database(config, p.data)));
  if (config.store.is_shared()) {
    COT_ASSIGN(p.plane_training, SqlTrainingStore::open(open_database(config, p.data)));
    COT_ASSIGN(p.fleet, SqlFleetStore::open(open_database(config, p.data)));
    if (config.may_lead()) {
      COT_ASSIGN(p.leases, SqlLeaseStore::open(open_database(config, p.data)));
    }
  }
  COT_ASSIGN(p.stores, open_blob_stores(config, p.data));
  BlobStore& blobs = *p.stores.blobs;
  BlobStore& partials = *p.stores.partials;
  p.directory.emplace(*p.devices, kDevicesCached);
  p.finalizer.emplace(*p.training, *p.training, blobs, partials, *p.noise, &evaluate_model);

  p.http.emplace(threads, p.metrics);
  p.plane.emplace(
      DevicePlaneSettings{.node = config.node,
                          .ingest = config.ingest,
                          .desk = config.desk,
                          .pace = config.pace,
                          .pool_threads = threads},
      incarnation,
      DevicePlaneParts{p.plane_training ? *p.plane_training : *p.training, partials, *p.ticket_key, p.metrics});
  p.guard.emplace(
      config.overload, config.pace, threads, p.metrics,
      [&p] { return Delays{.core = p.plane->core_delay(), .store = p.plane->store_delay()}; },
      [&p] { return p.plane->devices_steered(); }, random_u64());
  if (config.serves_devices()) {
    p.http->observe_delays([&p](size_t thread, Millis late) { p.guard->observe(thread, late); });
  }
  p.scheduler.emplace(RoundSchedulerSettings{.pool_threads = threads,
                                             .orphan_age_min = config.store.is_shared() ? kOrphanAgeMin : Millis(0),
                                             .authority_key = config.authority_key},
                      RoundSchedulerParts{.jobs = *p.training,
                                          .rounds = *p.training,
                                          .accepts = *p.training,
                                          .ledger = *p.training,
                                          .blobs = blobs,
                                          .partials = partials,
                                          .finalizer = *p.finalizer,
                                          .signer = *p.signer,
                                          .metrics = p.metrics,
                                          .events = *p.events});
  if (p.fleet) COT_TRY(prepare_fleet(p, incarnation));
  p.data.keys_are_loaded();
  p.device_service.emplace(
      DeviceServiceSettings{.clock_skew_max = config.clock_skew_max,
                            .idle_body_bytes_max = config.ingest.bytes_in_flight_max},
      DeviceServiceParts{*p.plane, p.cohorts ? static_cast<CohortOwner&>(*p.cohorts) : *p.scheduler, *p.devices,
                         *p.directory, blobs, *p.ticket_key, *p.signer, *p.guard});
  std::function<Result<AdminCaller>(std::string_view, WallTime)> verify_foreign;
  if (config.oidc) {
    p.oidc.emplace(*config.oidc);
    verify_foreign = [&p](std::string_view token, WallTime now) -> Result<AdminCaller> {
      COT_ASSIGN(const OidcIdentity identity, p.oidc->verify(token, now));
      return caller_of(identity, !p.config.oidc->tenant_claim.empty());
    };
  }
  std::function<Result<std::shared_ptr<EventSource>>(EventReader)> remote_events;
  if (p.fleet)
    remote_events = [&p](EventReader reader) { return remote_events_of(*p.member, *p.peer_client, std::move(reader)); };
  p.admin_service.emplace(AdminServiceSettings{.version = kVersion},
                          AdminServiceParts{.scheduler = *p.scheduler,
                                            .plane = *p.plane,
                                            .jobs = *p.training,
                                            .rounds = *p.training,
                                            .ledger = *p.training,
                                            .models = *p.training,
                                            .devices = *p.devices,
                                            .directory = *p.directory,
                                            .blobs = blobs,
                                            .admin = *p.admin,
                                            .metrics = p.metrics,
                                            .events = *p.events,
                                            .nodes = [&p] { return nodes_of(p); },
                                            .check_model = &check_model,
                                            .evaluate = &evaluate_model,
                                            .verify_foreign = std::move(verify_foreign),
                                            .remote_events = std::move(remote_events)},
                          admin_token);

  uint16_t device_port = 0;
  if (config.serves_devices()) {
    COT_ASSIGN(device_port,
               p.http->listen({kDevicePlane, config.device.address, config.device.port, config.device.limits}, tls,
                              *p.device_service));
  }
  COT_ASSIGN(
      const uint16_t admin_port,
      p.http->listen({"admin", config.admin.address, config.admin.port, config.admin.limits}, tls, *p.admin_service));
  if (config.serves_devices()) p.endpoints.device_url = url_of(config.device.address, device_port);
  p.endpoints.admin_url = url_of(config.admin.address, admin_port);
  p.on_lost = std::move(on_lost);
  const auto take_tls = [&p, tls_files]() -> Status {
    COT_ASSIGN(const TlsContext renewed, make_server_tls(tls_files.certificate, tls_files.key));
    p.http->set_tls(renewed);
    return {};
  };
  const auto take_token = [&p]() -> Status {
    COT_ASSIGN(const std::string renewed, p.data.admin_token());
    p.admin_service->replace_token(renewed);
    return {};
  };
  const auto take_old_tickets = [&p]() -> Status {
    COT_ASSIGN(std::shared_ptr<const MacKey> key, p.data.old_ticket_key());
    p.device_service->take_old_tickets(std::move(key));
    return {};
  };
  COT_TRY(take_old_tickets());
  p.rotation.emplace(std::vector<RotatedFiles>{{"tls", {tls_files.certificate, tls_files.key}, take_tls},
                                               {"admin_token", {p.data.admin_token_path()}, take_token},
                                               {"old_ticket_key", {p.data.old_ticket_key_path()}, take_old_tickets}});
  if (p.fleet) join_fleet(p);
  else COT_TRY(serve_alone(p));
  p.http->start();
  p.rotation->start(kRotationEvery);
  p.endpoints.pid = getpid();
  const std::string endpoints = to_json_text(p.endpoints);
  if (const Status written =
          os::write_file_atomically(p.data.path("endpoints.json"), as_bytes(endpoints), &os::crash::endpoints);
      !written) {
    p.http->stop();  // before what its threads work with is gone
    return written.error();
  }
  log(LogLevel::info, "server_started", {{"device_url", p.endpoints.device_url}, {"admin_url", p.endpoints.admin_url}});
  if (p.leases) stand_for_the_lead(p);
  return std::unique_ptr<Server>(new Server(std::move(owned)));
}

// One process does everything. Jobs go on where the store says they are.
Status Server::serve_alone(Parts& p) {
  p.plane->start(*p.scheduler, [&p](std::function<void()> done) { p.scheduler->when_settled(std::move(done)); });
  COT_TRY(p.scheduler->start(*p.plane));
  p.scheduler->nodes_changed(1);
  p.device_service->set_serving(true);
  p.admin_service->set_leading(true);
  p.admin_service->set_ready(true);
  return {};
}

// One of several. Listens on the peer plane first, so that the others can be told where.
Status Server::prepare_fleet(Parts& p, const std::string& incarnation) {
  const PeerConfig& peer = p.config.peer;
  COT_ASSIGN(const PeerFiles files, p.data.peer_files(peer, os::wall_now()));
  COT_ASSIGN(const TlsContext tls, make_peer_tls(files.certificate, files.key, files.ca));
  COT_ASSIGN(p.peer_client, PeerClient::start({files.certificate, files.key, files.ca}));
  p.peer_events.emplace(
      *p.events, [&p](const JobId& job, const Population& population) { return p.scheduler->now_of(job, population); });
  p.peer_service.emplace(*p.scheduler, &*p.peer_events);
  std::string url;
  if (p.config.may_lead()) {
    COT_ASSIGN(const uint16_t port, p.http->listen({"peer", peer.listen.address, peer.listen.port, peer.listen.limits},
                                                   tls, *p.peer_service));
    url = peer.url.empty() ? url_of(peer.listen.address, port) : peer.url;
  }
  COT_ASSIGN(const std::string former, p.data.incarnation_before(incarnation));
  const FleetIdentity identity{.node = p.config.node,
                               .incarnation = incarnation,
                               .former = former,
                               .url = url,
                               .serves = p.config.serves_devices()};
  p.member.emplace(p.config.fleet, identity, *p.fleet, *p.stores.blobs, [&p](uint64_t waiting) {
    const NodeLoad load = load_of(p, waiting);
    p.metrics.set_node_load(load);
    return load;
  });
  p.remote_cohorts.emplace(*p.peer_client, [&p] { return p.member->owner_url(); });
  p.cohorts.emplace(*p.scheduler, *p.remote_cohorts);
  return {};
}

// Rounds are heard of through the store, whoever leads.
void Server::join_fleet(Parts& p) {
  if (p.config.serves_devices()) {
    p.plane->start(*p.member, [&p](std::function<void()> done) { p.member->refresh(std::move(done)); });
    p.member->start(p.started, &*p.plane);
    p.device_service->set_serving(true);
    p.admin_service->set_ready(true);
  } else {
    p.member->start(p.started, nullptr);
  }
}

NodeLoad Server::load_of(const Parts& p, uint64_t waiting) {
  const auto share = [](uint64_t part, uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  return {.bytes = share(p.plane->bytes_in_flight(), p.config.ingest.bytes_in_flight_max),
          .connections = share(p.http->connections(kDevicePlane), p.config.device.limits.connections_max),
          .waiters = share(waiting, p.config.desk.waiters_max),
          .queue_delay = p.guard->load()};
}

// A server that is alone lists itself.
Result<std::vector<NodeRow>> Server::nodes_of(const Parts& p) {
  if (!p.fleet) {
    uint64_t waiting = 0;
    for (const auto& [population, count] : p.scheduler->status().waiting) waiting += count;
    NodeRow row{.report = {.node = p.config.node,
                           .incarnation = {},
                           .url = {},
                           .serves = true,
                           .draining = p.stopped,
                           .load = load_of(p, waiting),
                           .waiting = p.scheduler->status().waiting,
                           .issued = {},
                           .lacking = {},
                           .accepted = {}},
                .started = p.started};
    for (const SchedulerStatus::Job& job : p.scheduler->status().jobs) {
      if (!job.round) continue;
      row.report.issued[job.round->key] = job.selected;
      row.report.accepted[job.round->key] = job.accepted;
    }
    return std::vector<NodeRow>{std::move(row)};
  }
  COT_ASSIGN(const std::vector<FleetNodeRow> rows, p.fleet->nodes());
  std::vector<NodeRow> nodes;
  for (const FleetNodeRow& row : rows) {
    COT_ASSIGN(NodeReport report, node_report_from_text(row.report));
    report.node = row.node;
    report.incarnation = row.incarnation;
    nodes.push_back({std::move(report), row.started, row.age});
  }
  return nodes;
}

void Server::stand_for_the_lead(Parts& p) {
  p.leader.start();
  p.leadership.emplace(p.config.lease, *p.leases, kLead, p.config.node + "/" + to_hex(random_bytes(8)));
  const auto held = [&p](LeaseEpoch epoch) {
    p.leader.post([&p, epoch] {
      p.training->set_fence(kLead, epoch);
      os::crash_point(os::CrashPoint::lead_fenced);
      p.lead.emplace(p.config.fleet, *p.fleet, p.member->url());
      if (const Status leads = p.scheduler->start(*p.lead); !leads)
        return p.on_lost("cannot lead: " + leads.error().message());
      os::crash_point(os::CrashPoint::lead_begun);
      p.lead->start(kLead, epoch, *p.scheduler);
      p.cohorts->set_owning(true);
      p.peer_service->set_owning(true);
      p.admin_service->set_leading(true);
      p.admin_service->set_ready(true);
      p.events->add(event::ServerLeads{epoch.value()});
    });
  };
  p.leadership->start(held, [&p](const std::string& why) { p.on_lost("the lead is lost: " + why); });
}

size_t Server::rotate_files() { return parts_->rotation->look(); }

void Server::stop() {
  Parts& p = *parts_;
  if (std::exchange(p.stopped, true)) return;
  p.rotation->stop();
  log(LogLevel::info, "server_stopping");
  os::crash_point(os::CrashPoint::stop_begun);
  p.leader.stop();  // what it has begun is done
  p.admin_service->set_ready(false);
  if (p.member) p.member->drain();
  (void)os::remove_file(p.data.path("endpoints.json"));
  p.http->stop_accepting();
  p.plane->dismiss_waiters();
  p.scheduler->answer_all_held();
  const bool quiet = p.http->wait_until_quiet(p.config.shutdown_max);
  os::crash_point(os::CrashPoint::stop_drained);
  {
    const StoreTimeLimit limit(p.stores.s3, p.config.shutdown_max);
    p.plane->stop(p.config.shutdown_max);
    p.scheduler->stop();
    if (p.lead) p.lead->stop();
  }
  p.http->stop();
  if (p.peer_client) p.peer_client->stop();
  if (p.leadership) p.leadership->stop();  // after the last write: another leads at once
  if (p.member) p.member->stop();
  os::crash_point(os::CrashPoint::stop_done);
  log(LogLevel::info, "server_stopped", {{"all_requests_finished", quiet}});
}

}  // namespace coterie
