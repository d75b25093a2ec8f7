// ServerConfig: everything about a server process that is not a job. One JSON file, defaults for what it leaves out,
// every problem reported at once, unknown keys are problems, secrets only as files in the data directory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "base/result.h"
#include "fl_server/config/blobs_json.h"
#include "fl_server/oidc/oidc_settings.h"
#include "fl_server/settings/device_plane_settings.h"
#include "fl_server/settings/fleet_settings.h"
#include "fl_server/settings/http_limits.h"
#include "fl_server/settings/overload_settings.h"
#include "fl_server/settings/retention_settings.h"
#include "fl_server/settings/tenant_quotas.h"
#include "fl_server/settings/vertical_settings.h"
#include "scheduler/lease/lease.h"

namespace coterie {

struct ListenConfig {
  std::string address;
  uint16_t port = 0;
  HttpLimits limits;
};

struct TlsConfig {
  std::string certificate_file;  // empty: a development CA and certificate are made in the data directory
  std::string key_file;
  std::vector<std::string> names;  // of the development certificate, beside localhost, 127.0.0.1 and ::1
};

// Where the truth is kept: a file of this server alone, or a PostgreSQL database that a fleet of servers shares. One of
// those leads.
struct StoreConfig {
  std::string engine = "sqlite";  // or "postgres"
  std::string conninfo_file;      // of PostgreSQL: a file with libpq's connection string, as it may hold a password
  std::string schema = "coterie";
  Millis statement_max{30'000};
  Millis lock_max{10'000};
  bool is_shared() const { return engine == "postgres"; }
};

// The plane on which servers of a fleet talk to each other, with certificates on both sides, of an authority that
// certifies nobody else.
struct PeerConfig {
  ListenConfig listen{.address = "127.0.0.1", .port = 0, .limits = {}};
  std::string url;               // where the others reach this one; empty: the address and port it listens on
  std::string certificate_file;  // empty: made from an authority in keys_dir
  std::string key_file;
  std::string ca_file;
};

// The plane on which this process answers with its jobs' models (docs/SERVING.md).
struct ServingConfig {
  ListenConfig listen{.address = "127.0.0.1", .port = 8500, .limits = {}};
  std::optional<uint16_t> grpc_port;         // a second door at the same address; 0: the system chooses; none: no gRPC
  std::vector<std::string> jobs;             // by id; with the next none: all
  std::vector<std::string> populations;      // all of their jobs
  std::map<std::string, std::string> steps;  // files of steps around models, by a job's id or a population's name
  uint32_t models_max = 8;                   // of those jobs: released ones, then the newest
  uint32_t canary_percent = 0;            // of requests that name no version: to the latest, where another is promoted
  bool has_shadow = false;                // the latest computes beside the promoted one, and is compared
  uint32_t threads = 1;                   // for connections, beside those of the other planes
  uint32_t workers = 0;                   // threads that compute; 0: one a core
  uint32_t batch_max = 32;                // examples that a worker computes at a time
  uint64_t waiting_max = 4096;            // examples that wait for a worker
  Millis wait_max{10'000};                // of a request for a worker
  uint64_t body_bytes_max = 16ull << 20;  // of a request
  uint64_t version_bytes_max = 1ull << 30;  // what one version of a model is compiled into
  uint64_t bytes_max = 4ull << 30;          // of all versions, with their files
};

// Who collects traces of rounds (docs/operating/monitoring.md).
struct TracingConfig {
  std::string otlp_url;    // OpenTelemetry's protocol over HTTP, as JSON
  std::string ca_file;     // PEM: who may certify the collector; empty: whom the system trusts
  std::string token_file;  // of a bearer token; empty: none
};

// What a process is: everything, or of a fleet a node that talks to devices, one that may lead, or one that only
// answers with models.
enum class ServerRole : uint8_t { all, server, scheduler, serving };

struct ServerConfig {
  ServerRole role = ServerRole::all;
  std::string data_dir = "coterie-data";
  std::string node = "node-0";
  ListenConfig device{.address = "0.0.0.0", .port = 8443, .limits = {}};
  ListenConfig admin{.address = "127.0.0.1", .port = 8444, .limits = {.bodies_bytes_max = 1ull << 30}};
  uint64_t upload_bytes_max = 512ull << 20;  // of a model or a data set
  uint32_t event_streams_max = kEventStreamsMax;
  std::optional<ServingConfig> serving;      // none: it answers with no model
  std::optional<TracingConfig> tracing;      // none: nobody's collector
  std::optional<VerticalSettings> vertical;  // whose vertical jobs the admin plane shows; none: nobody's
  std::optional<OidcSettings> oidc;          // whose tokens the admin plane takes beside its own; none: nobody's
  TlsConfig tls;
  StoreConfig store;
  LeaseSettings lease;    // of the lead, where the store is shared
  FleetSettings fleet;    // so is this
  PeerConfig peer;        // and this
  std::string keys_dir;   // ticket, noise and signing keys and the admin token; empty: in the data directory
  BlobsConfig blobs;      // models, plans, partial sums: in a directory or in S3
  std::string blobs_dir;  // that directory; empty: in the data directory
  IngestLimits ingest;
  DeskLimits desk;
  PaceSettings pace;
  OverloadSettings overload;
  RetentionSettings retention;
  TenantQuotas quotas;
  Bytes authority_key;                     // Ed25519, of whoever certifies devices; empty: none does
  std::string authority_revocations_file;  // its newest list of revoked certificates, for devices; empty: none
  uint32_t threads = 0;                    // network threads and compute threads each; 0: one a core
  Millis clock_skew_max{300'000};          // of a signed request
  Millis shutdown_max{20'000};
  std::optional<uint64_t> draw_seed;  // DevicePlaneSettings; of the command line alone (check_draw_seed)
  std::string log_level = "info";     // debug, info, warning, error
  bool serves_devices() const { return role == ServerRole::all || role == ServerRole::server; }
  bool may_lead() const { return role == ServerRole::all || role == ServerRole::scheduler; }
};

std::optional<ServerRole> server_role_from_name(std::string_view name);

// invalid_argument, if who trains is to be drawn by a seed on a server that others can reach: such draws are foretold.
Status check_draw_seed(const ServerConfig& config);

// `problems` gets everything wrong with form or values.
ServerConfig server_config_from_json(std::string_view text, Problems& problems);

}  // namespace coterie
