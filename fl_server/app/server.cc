#include "fl_server/app/server.h"

#include <unistd.h>

#include <optional>
#include <thread>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/app/blob_stores.h"
#include "fl_server/app/data_directory.h"
#include "fl_server/app/version.h"
#include "fl_server/config/endpoints.h"
#include "fl_server/evaluation/model_evaluator.h"
#include "fl_server/http/admin_service.h"
#include "fl_server/http/device_service.h"
#include "fl_server/http/http_server.h"
#include "fl_server/oidc/bearer_verifier.h"
#include "fl_server/runtime/leadership.h"
#include "fl_server/store/sql/postgres.h"
#include "fl_server/store/sql/sqlite.h"
#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_device_store.h"
#include "fl_server/store/sql_lease_store.h"
#include "fl_server/store/sql_round_store.h"
#include "secure/crypto/random.h"
#include "secure/crypto/self_test.h"
#include "secure/mask/mask_self_test.h"

namespace coterie {
namespace {

constexpr size_t kDevicesCached = 100'000;
constexpr uint64_t kConninfoBytesMax = 16'384;
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

// Somebody of the identity provider, with the roles that its role_map gives him.
AdminCaller caller_of(const OidcIdentity& identity) {
  AdminCaller caller{.id = "oidc:" + identity.subject, .roles = {}};
  for (const std::string& name : identity.roles) {
    if (const std::optional<Role> role = role_from_name(name)) caller.roles.insert(*role);
  }
  return caller;
}

}  // namespace

// In the order of construction: what comes later uses what comes before, and goes first.
struct Server::Parts {
  Parts(const ServerConfig& c, DataDirectory d) : config(c), data(std::move(d)) {}

  ServerConfig config;
  DataDirectory data;
  Metrics metrics{kVersion};
  std::unique_ptr<SqlRoundStore> rounds;
  std::unique_ptr<SqlDeviceStore> devices;
  std::unique_ptr<SqlAdminStore> admin;
  std::unique_ptr<SqlLeaseStore> leases;  // of a shared store
  BlobStores stores;
  std::optional<DeviceDirectory> directory;
  std::optional<MacKey> ticket_key;
  std::unique_ptr<Signer> signer;
  std::optional<MacKey> noise_key;
  std::optional<RoundNoiseMaker> noise;
  std::optional<Finalizer> finalizer;
  std::optional<BearerVerifier> oidc;
  std::optional<HttpServer> http;
  std::optional<Coordinator> coordinator;
  std::optional<DeviceService> device_service;
  std::optional<AdminService> admin_service;
  Endpoints endpoints;
  std::function<void(const std::string&)> on_lost;
  WorkLoop leader;  // begins to lead, while the lease goes on being renewed
  std::optional<Leadership> leadership;
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
  COT_TRY(AdminService::check_handlers());
  COT_ASSIGN(DataDirectory data, DataDirectory::open(config.data_dir, config.keys_dir));
  auto owned = std::make_unique<Parts>(config, std::move(data));
  Parts& p = *owned;
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

  COT_ASSIGN(p.rounds, SqlRoundStore::open(open_database(config, p.data)));
  COT_ASSIGN(p.devices, SqlDeviceStore::open(open_database(config, p.data)));
  COT_ASSIGN(p.admin, SqlAdminStore::open(open_database(config, p.data)));
  if (config.store.is_shared()) {
    COT_ASSIGN(p.leases, SqlLeaseStore::open(open_database(config, p.data)));
  }
  COT_ASSIGN(p.stores, open_blob_stores(config, p.data));
  BlobStore& blobs = *p.stores.blobs;
  BlobStore& partials = *p.stores.partials;
  p.directory.emplace(*p.devices, kDevicesCached);
  p.finalizer.emplace(*p.rounds, blobs, partials, *p.noise, &evaluate_model);

  p.http.emplace(threads, p.metrics);
  p.coordinator.emplace(CoordinatorSettings{.node = config.node,
                                            .ingest = config.ingest,
                                            .desk = config.desk,
                                            .pace = config.pace,
                                            .pool_threads = threads,
                                            .authority_key = config.authority_key},
                        CoordinatorParts{*p.rounds, blobs, partials, *p.finalizer, *p.ticket_key, *p.signer,
                                         p.metrics});
  p.device_service.emplace(
      DeviceServiceSettings{.clock_skew_max = config.clock_skew_max, .idle_body_bytes_max = config.ingest.bytes_in_flight_max},
      DeviceServiceParts{*p.coordinator, *p.devices, *p.directory, blobs, *p.ticket_key, *p.signer});
  std::function<Result<AdminCaller>(std::string_view, WallTime)> verify_foreign;
  if (config.oidc) {
    p.oidc.emplace(*config.oidc);
    verify_foreign = [&p](std::string_view token, WallTime now) -> Result<AdminCaller> {
      COT_ASSIGN(const OidcIdentity identity, p.oidc->verify(token, now));
      return caller_of(identity);
    };
  }
  p.admin_service.emplace(AdminServiceSettings{.version = kVersion},
                          AdminServiceParts{*p.coordinator, *p.rounds, *p.devices, *p.directory, blobs, *p.admin, p.metrics,
                                            &check_model, &evaluate_model, std::move(verify_foreign)},
                          admin_token);

  COT_ASSIGN(const uint16_t device_port,
             p.http->listen({"device", config.device.address, config.device.port, config.device.limits}, tls,
                            *p.device_service));
  COT_ASSIGN(const uint16_t admin_port,
             p.http->listen({"admin", config.admin.address, config.admin.port, config.admin.limits}, tls,
                            *p.admin_service));
  p.endpoints.device_url = url_of(config.device.address, device_port);
  p.endpoints.admin_url = url_of(config.admin.address, admin_port);
  p.on_lost = std::move(on_lost);
  if (!p.leases) COT_TRY(lead(p));
  p.http->start();
  p.endpoints.pid = getpid();
  COT_TRY(os::write_file_atomically(p.data.path("endpoints.json"), as_bytes(to_json_text(p.endpoints))));
  log(LogLevel::info, "server_started", {{"device_url", p.endpoints.device_url},
                                         {"admin_url", p.endpoints.admin_url}});
  if (p.leases) stand_for_the_lead(p);
  return std::unique_ptr<Server>(new Server(std::move(owned)));
}

// Jobs go on where the store says they are.
Status Server::lead(Parts& p) {
  COT_TRY(p.coordinator->start());
  p.device_service->set_serving(true);
  p.admin_service->set_leading(true);
  p.admin_service->set_ready(true);
  return {};
}

void Server::stand_for_the_lead(Parts& p) {
  p.leader.start();
  p.leadership.emplace(p.config.lease, *p.leases, kLead, p.config.node + "/" + to_hex(random_bytes(8)));
  const auto held = [&p](LeaseEpoch epoch) {
    p.leader.post([&p, epoch] {
      p.rounds->set_fence(kLead, epoch);
      if (const Status leads = lead(p); !leads) return p.on_lost("cannot lead: " + leads.error().message());
      log(LogLevel::info, "server_leads", {{"epoch", epoch.value()}});
    });
  };
  p.leadership->start(held, [&p](const std::string& why) { p.on_lost("the lead is lost: " + why); });
}

void Server::stop() {
  Parts& p = *parts_;
  if (std::exchange(p.stopped, true)) return;
  log(LogLevel::info, "server_stopping");
  p.leader.stop();  // what it has begun is done
  p.admin_service->set_ready(false);
  (void)os::remove_file(p.data.path("endpoints.json"));
  p.http->stop_accepting();
  p.coordinator->dismiss_waiters();
  const bool quiet = p.http->wait_until_quiet(p.config.shutdown_max);
  {
    const StoreTimeLimit limit(p.stores.s3, p.config.shutdown_max);
    p.coordinator->stop(p.config.shutdown_max);
  }
  p.http->stop();
  if (p.leadership) p.leadership->stop();  // after the last write: another leads at once
  log(LogLevel::info, "server_stopped", {{"all_requests_finished", quiet}});
}

}  // namespace coterie
