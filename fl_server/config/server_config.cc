#include "fl_server/config/server_config.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "fl_server/config/oidc_json.h"
#include "fl_server/config/vertical_json.h"
#include "fl_server/json/json_reader.h"
#include "fl_server/settings/collector_url.h"
#include "secure/crypto/signature.h"

namespace coterie {
namespace {

constexpr uint64_t kBodiesBytesMin = 4 << 20;  // several of the largest messages, while they grow

void read_trusted(JsonReader& reader, std::vector<AddressRange>& ranges) {
  if (!reader.has("trusted_addresses")) return;
  std::vector<std::string> texts;
  reader.read("trusted_addresses", texts);
  ranges.clear();
  for (const std::string& text : texts) {
    const std::optional<AddressRange> range = AddressRange::parse(text);
    if (range) {
      ranges.push_back(*range);
    } else {
      reader.problem("trusted_addresses", text + " is no address or range, such as 10.0.0.0/8 or fd00::/8");
    }
  }
}

// Leaves finish() to the caller, who may know more keys.
void read_listener(JsonReader& reader, ListenConfig& listen) {
  HttpLimits& limits = listen.limits;
  reader.read("address", listen.address);
  reader.read("port", listen.port);
  reader.read("connections_max", limits.connections_max);
  reader.read("connections_per_address_max", limits.connections_per_address_max);
  read_trusted(reader, limits.trusted_addresses);
  reader.read("handshake_ms_max", limits.handshake_max);
  reader.read("handshakes_max", limits.handshakes_max);
  reader.read("head_ms_max", limits.head_max);
  reader.read("idle_ms_max", limits.idle_max);
  reader.read("stranger_idle_ms_max", limits.stranger_idle_max);
  reader.read("body_grace_ms", limits.body_grace);
  reader.read("body_bytes_per_second_min", limits.body_bytes_per_second_min);
  reader.read("answer_ms_max", limits.answer_max);
  reader.read("bodies_bytes_max", limits.bodies_bytes_max);
  if (listen.address.empty()) reader.problem("address", "must not be empty");
  if (limits.connections_max == 0) reader.problem("connections_max", "must be at least 1");
  if (limits.connections_per_address_max == 0) reader.problem("connections_per_address_max", "must be at least 1");
  if (limits.handshakes_max == 0) reader.problem("handshakes_max", "must be at least 1");
  if (limits.bodies_bytes_max < kBodiesBytesMin) reader.problem("bodies_bytes_max", "must be at least 4194304");
  if (limits.body_bytes_per_second_min == 0) reader.problem("body_bytes_per_second_min", "must be at least 1");
}

void read_device(JsonReader reader, ListenConfig& device) {
  read_listener(reader, device);
  reader.finish();
}

void read_admin(JsonReader reader, ServerConfig& config) {
  read_listener(reader, config.admin);
  reader.read("upload_bytes_max", config.upload_bytes_max);
  // While it comes, a body holds up to one and a half times its size, and large ones have three quarters of the budget.
  if (config.upload_bytes_max == 0 || config.upload_bytes_max > config.admin.limits.bodies_bytes_max / 2) {
    reader.problem("upload_bytes_max", "must be at least 1, and at most half of bodies_bytes_max");
  }
  reader.read("event_streams_max", config.event_streams_max);
  constexpr uint32_t kStreamsMax = 10'000;
  if (config.event_streams_max == 0 || config.event_streams_max > kStreamsMax) {
    reader.problem("event_streams_max", "must be in [1, 10000]");
  }
  if (reader.has("oidc")) config.oidc = read_oidc(reader.object("oidc"));
  reader.finish();
}

void read_tls(JsonReader reader, TlsConfig& tls) {
  reader.read("certificate_file", tls.certificate_file);
  reader.read("key_file", tls.key_file);
  reader.read("names", tls.names);
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    reader.problem(tls.key_file.empty() ? "key_file" : "certificate_file", "is required with the other of the pair");
  }
  reader.finish();
}

void read_ingest(JsonReader reader, IngestLimits& ingest) {
  reader.read("bytes_in_flight_max", ingest.bytes_in_flight_max);
  reader.read("uploads_queued_max", ingest.uploads_queued_max);
  reader.read("queued_ms_max", ingest.queued_max);
  reader.read("batch_updates_max", ingest.batch_updates_max);
  reader.read("linger_ms_min", ingest.linger_min);
  reader.read("linger_ms_max", ingest.linger_max);
  if (ingest.bytes_in_flight_max < (1 << 20)) reader.problem("bytes_in_flight_max", "must be at least 1048576");
  if (ingest.batch_updates_max < 1 || ingest.batch_updates_max > 4096) {
    reader.problem("batch_updates_max", "must be in [1, 4096]");
  }
  reader.finish();
}

void read_selection(JsonReader reader, DeskLimits& desk, PaceSettings& pace) {
  uint32_t waiters_max = static_cast<uint32_t>(desk.waiters_max);
  reader.read("waiters_max", waiters_max);
  desk.waiters_max = waiters_max;
  reader.read("hold_ms_max", desk.hold_max);
  reader.read("checkins_per_second_max", pace.checkins_per_second_max);
  if (desk.waiters_max == 0) reader.problem("waiters_max", "must be at least 1");
  if (pace.checkins_per_second_max == 0) reader.problem("checkins_per_second_max", "must be at least 1");
  reader.finish();
}

void read_overload(JsonReader reader, OverloadSettings& overload) {
  constexpr double kPerSecondMin = 0.001, kPerSecondMax = 100'000;
  uint32_t callers_max = static_cast<uint32_t>(overload.device.callers_max);
  reader.read("queue_delay_ms", overload.queue.target);
  reader.read("burst_ms", overload.queue.interval);
  reader.read("device_requests_per_second", overload.device.per_second);
  reader.read("device_requests_burst", overload.device.burst);
  reader.read("stranger_requests_per_second", overload.stranger.per_second);
  reader.read("stranger_requests_burst", overload.stranger.burst);
  reader.read("callers_max", callers_max);
  overload.device.callers_max = overload.stranger.callers_max = callers_max;
  const Millis target = overload.queue.target;
  if (target < Millis(1) || target > Millis(60'000)) reader.problem("queue_delay_ms", "must be in [1, 60000]");
  if (overload.queue.interval < target) reader.problem("burst_ms", "must be at least queue_delay_ms");
  const auto check = [&](const char* per_second, const char* burst, const TokenBucketSettings& bucket) {
    const bool fits = bucket.per_second >= kPerSecondMin && bucket.per_second <= kPerSecondMax;
    if (!fits && bucket.per_second != 0) reader.problem(per_second, "must be in [0.001, 100000]; 0: no limit");
    if (bucket.burst == 0) reader.problem(burst, "must be at least 1");
  };
  check("device_requests_per_second", "device_requests_burst", overload.device);
  check("stranger_requests_per_second", "stranger_requests_burst", overload.stranger);
  if (callers_max == 0) reader.problem("callers_max", "must be at least 1");
  reader.finish();
}

// A time that may be longer than the 49 days which other settings take.
void read_long_time(JsonReader& reader, const char* key, Millis& value) {
  constexpr uint64_t kMax = 100ull * 366 * 86'400'000;
  auto count = static_cast<uint64_t>(value.count());
  reader.read(key, count);
  if (count <= kMax) value = Millis(static_cast<int64_t>(count));
  else reader.problem(key, "must be at most " + std::to_string(kMax) + ", which is a hundred years");
}

void read_retention(JsonReader reader, RetentionSettings& retention) {
  reader.read("models_kept", retention.models_kept);
  reader.read("models_kept_every", retention.models_kept_every);
  reader.read("superseded_ms_min", retention.superseded_min);
  reader.read("accepted_ms", retention.accepted_kept);
  reader.read("rounds_kept", retention.rounds_kept);
  reader.read("rounds_ms_min", retention.rounds_kept_min);
  reader.read("uploads_ms", retention.uploads_kept);
  reader.read("devices_days", retention.devices_days);
  read_long_time(reader, "audit_ms", retention.audit_kept);
  reader.read("audit_segment_records", retention.audit_segment_records);
  read_long_time(reader, "audit_segments_ms", retention.audit_segments_kept);
  reader.read("look_ms", retention.look_every);
  if (retention.models_kept == 0) reader.problem("models_kept", "must be at least 1");
  if (retention.rounds_kept == 0) reader.problem("rounds_kept", "must be at least 1");
  if (retention.superseded_min < Millis(1'000)) reader.problem("superseded_ms_min", "must be at least 1000");
  if (retention.accepted_kept < Millis(1'000)) reader.problem("accepted_ms", "must be at least 1000");
  if (retention.rounds_kept_min < retention.accepted_kept)
    reader.problem("rounds_ms_min", "must be at least accepted_ms");
  if (retention.uploads_kept < Millis(3'600'000)) reader.problem("uploads_ms", "must be at least 3600000");
  // Who was counted is known for as long as its row is there.
  constexpr Millis kDay{86'400'000};
  const Millis devices_kept = kDay * int64_t{retention.devices_days};
  if (retention.devices_days != 0 && devices_kept < retention.accepted_kept)
    reader.problem("devices_days", "must be 0, or at least as long as accepted_ms");
  constexpr uint32_t kSegmentRecordsMax = 10'000;
  if (retention.audit_kept < Millis(1'000)) reader.problem("audit_ms", "must be at least 1000");
  if (retention.audit_segment_records < 10 || retention.audit_segment_records > kSegmentRecordsMax)
    reader.problem("audit_segment_records", "must be in [10, 10000]");
  if (retention.audit_segments_kept != Millis(0) && retention.audit_segments_kept < retention.audit_kept)
    reader.problem("audit_segments_ms", "must be 0, or at least audit_ms");
  if (retention.look_every < Millis(100)) reader.problem("look_ms", "must be at least 100");
  reader.finish();
}

void read_quotas(JsonReader reader, TenantQuotas& quotas) {
  const auto read = [&](const char* name, uint64_t& most) {
    reader.read(name, most);
    if (most == 0) reader.problem(name, "must be at least 1");
  };
  read("blob_bytes_max", quotas.blob_bytes_max);
  read("uploads_max", quotas.uploads_max);
  read("jobs_max", quotas.jobs_max);
  read("admin_tokens_max", quotas.admin_tokens_max);
  read("enrollment_tokens_max", quotas.enrollment_tokens_max);
  read("idempotency_keys_max", quotas.idempotency_keys_max);
  read("event_streams_max", quotas.event_streams_max);
  reader.finish();
}

void read_store(JsonReader reader, StoreConfig& store) {
  size_t engine = 0;
  reader.read_choice("engine", {"sqlite", "postgres"}, engine);
  store.engine = engine == 1 ? "postgres" : "sqlite";
  reader.read("conninfo_file", store.conninfo_file);
  reader.read("schema", store.schema);
  reader.read("statement_ms_max", store.statement_max);
  reader.read("lock_ms_max", store.lock_max);
  if (store.is_shared() && store.conninfo_file.empty()) {
    reader.problem("conninfo_file", "is required with postgres: a file with libpq's connection string");
  }
  if (!store.is_shared() && !store.conninfo_file.empty()) reader.problem("conninfo_file", "is only for postgres");
  if (store.statement_max < Millis(100)) reader.problem("statement_ms_max", "must be at least 100");
  if (store.lock_max < Millis(10)) reader.problem("lock_ms_max", "must be at least 10");
  reader.finish();
}

void read_lease(JsonReader reader, LeaseSettings& lease) {
  reader.read("ttl_ms", lease.ttl);
  reader.read("renew_ms", lease.renew_every);
  if (lease.ttl < Millis(500) || lease.ttl > Millis(600'000)) reader.problem("ttl_ms", "must be in [500, 600000]");
  if (lease.renew_every < Millis(50) || lease.renew_every > lease.ttl / 2) {
    reader.problem("renew_ms", "must be at least 50, and at most half of ttl_ms");
  }
  lease.retry_delay = std::min(lease.retry_delay, lease.renew_every);
  reader.finish();
}

void read_fleet(JsonReader reader, FleetSettings& fleet) {
  reader.read("poll_ms", fleet.poll_every);
  reader.read("silence_ms_max", fleet.silence_max);
  if (fleet.poll_every < Millis(10) || fleet.poll_every > Millis(10'000))
    reader.problem("poll_ms", "must be in [10, 10000]");
  if (fleet.silence_max < Millis(500) || fleet.silence_max < 4 * fleet.poll_every) {
    reader.problem("silence_ms_max", "must be at least 500, and at least four times poll_ms");
  }
  fleet.say_every = std::min(fleet.say_every, fleet.silence_max / 4);
  reader.finish();
}

void read_peer(JsonReader reader, PeerConfig& peer) {
  read_listener(reader, peer.listen);
  reader.read("url", peer.url);
  reader.read("certificate_file", peer.certificate_file);
  reader.read("key_file", peer.key_file);
  reader.read("ca_file", peer.ca_file);
  const bool any = !peer.certificate_file.empty() || !peer.key_file.empty() || !peer.ca_file.empty();
  const bool all = !peer.certificate_file.empty() && !peer.key_file.empty() && !peer.ca_file.empty();
  if (any && !all)
    reader.problem("ca_file", "certificate_file, key_file and ca_file go together: both sides show certificates");
  if (!peer.url.empty() && !peer.url.starts_with("https://")) reader.problem("url", "must begin with https://");
  const bool is_wildcard = peer.listen.address == "0.0.0.0" || peer.listen.address == "::";
  if (is_wildcard && peer.url.empty())
    reader.problem("url", "is required with a wildcard address: where the others reach this server");
  reader.finish();
}

ServingConfig read_serving(JsonReader reader) {
  ServingConfig serving;
  read_listener(reader, serving.listen);
  if (reader.has("grpc_port")) reader.read("grpc_port", serving.grpc_port.emplace());
  reader.read("jobs", serving.jobs);
  reader.read("populations", serving.populations);
  reader.read("steps", serving.steps);
  reader.read("models_max", serving.models_max);
  reader.read("canary_percent", serving.canary_percent);
  reader.read("shadow", serving.has_shadow);
  reader.read("threads", serving.threads);
  reader.read("workers", serving.workers);
  reader.read("batch_max", serving.batch_max);
  reader.read("waiting_max", serving.waiting_max);
  reader.read("wait_ms_max", serving.wait_max);
  reader.read("body_bytes_max", serving.body_bytes_max);
  reader.read("version_bytes_max", serving.version_bytes_max);
  reader.read("bytes_max", serving.bytes_max);
  if (serving.models_max < 1 || serving.models_max > 1000) reader.problem("models_max", "must be in [1, 1000]");
  if (serving.canary_percent > 100) reader.problem("canary_percent", "must be at most 100");
  if (serving.threads < 1 || serving.threads > 256) reader.problem("threads", "must be in [1, 256]");
  if (serving.workers > 256) reader.problem("workers", "must be at most 256");
  if (serving.batch_max < 1 || serving.batch_max > 1024) reader.problem("batch_max", "must be in [1, 1024]");
  if (serving.waiting_max < 1) reader.problem("waiting_max", "must be at least 1");
  if (serving.wait_max < Millis(1) || serving.wait_max > serving.listen.limits.answer_max)
    reader.problem("wait_ms_max", "must be at least 1, and at most answer_ms_max");
  // As of uploads: while it comes, a body holds up to one and a half times its size.
  if (serving.body_bytes_max < 1 || serving.body_bytes_max > serving.listen.limits.bodies_bytes_max / 2)
    reader.problem("body_bytes_max", "must be at least 1, and at most half of bodies_bytes_max");
  if (serving.version_bytes_max < (1 << 20)) reader.problem("version_bytes_max", "must be at least 1048576");
  if (serving.bytes_max < serving.version_bytes_max) reader.problem("bytes_max", "must be at least version_bytes_max");
  reader.finish();
  return serving;
}

TracingConfig read_tracing(JsonReader reader) {
  TracingConfig tracing;
  reader.read("otlp_url", tracing.otlp_url);
  reader.read("ca_file", tracing.ca_file);
  reader.read("token_file", tracing.token_file);
  if (!is_collector_url(tracing.otlp_url)) {
    reader.problem("otlp_url",
                   "must be https://HOST.../v1/traces; http only to a collector on 127.0.0.1, [::1] or localhost");
  }
  reader.finish();
  return tracing;
}

void read_role(JsonReader& reader, ServerRole& role) {
  size_t index = 0;
  reader.read_choice("role", {"all", "server", "scheduler", "serving"}, index);
  role = static_cast<ServerRole>(index);
}

// What the servers that share a store must share besides, or have of their own.
void check_sharing(const ServerConfig& config, JsonReader& reader) {
  if (!config.store.is_shared()) {
    if (config.role != ServerRole::all) {
      reader.problem("role",
                     "must be \"all\" with sqlite; of a fleet (store.engine postgres) it may be \"server\", "
                     "\"scheduler\" or \"serving\"");
    }
    return;
  }
  if (config.role == ServerRole::serving && !config.serving)
    reader.problem("serving", "is required with the role \"serving\", which does nothing else");
  if (config.keys_dir.empty())
    reader.problem("keys_dir", "is required with a store that servers share: they share their keys, too");
  if (config.blobs_dir.empty() && !config.blobs.s3) {
    reader.problem("blobs_dir",
                   "is required with a store that servers share: a directory that all of them see; or blobs in S3");
  }
  if (config.node == ServerConfig().node)
    reader.problem("node", "is required with a store that servers share: a name that no other server has");
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (!std::ranges::all_of(config.node, is_plain))
    reader.problem("node", "must be of letters, digits, -, _ and . with a shared store");
}

Bytes read_authority_key(JsonReader& reader) {
  std::string text;
  reader.read("authority_key", text);
  if (text.empty()) return {};
  const Result<Bytes> key = from_hex(text);
  if (key && public_key_is_valid(KeyAlgorithm::ed25519, *key)) return *key;
  reader.problem("authority_key",
                 "must be an Ed25519 public key, 64 hexadecimal digits (`coterie authority new` prints it)");
  return {};
}

}  // namespace

std::optional<ServerRole> server_role_from_name(std::string_view name) {
  if (name == "all") return ServerRole::all;
  if (name == "server") return ServerRole::server;
  if (name == "scheduler") return ServerRole::scheduler;
  if (name == "serving") return ServerRole::serving;
  return std::nullopt;
}

Status check_draw_seed(const ServerConfig& config) {
  if (!config.draw_seed) return {};
  const std::string& address = config.device.address;
  const bool is_of_this_machine = address.starts_with("127.") || address == "::1";
  if (is_of_this_machine && config.role == ServerRole::all && !config.store.is_shared()) return {};
  return Error(ErrorCode::invalid_argument,
               "--development-draw-seed: everybody who knows the seed can foretell who is drawn; only a server alone, "
               "whose devices connect to 127.0.0.1 or ::1, takes it (here: " +
                   address + ")");
}

ServerConfig server_config_from_json(std::string_view text, Problems& problems) {
  ServerConfig config;
  const auto json = parse_json(text, problems);
  if (!json) return config;
  JsonReader reader(*json, "", problems);
  read_role(reader, config.role);
  reader.read("data_dir", config.data_dir);
  reader.read("node", config.node);
  read_device(reader.object("device"), config.device);
  read_admin(reader.object("admin"), config);
  read_tls(reader.object("tls"), config.tls);
  read_store(reader.object("store"), config.store);
  read_lease(reader.object("lease"), config.lease);
  read_fleet(reader.object("fleet"), config.fleet);
  read_peer(reader.object("peer"), config.peer);
  if (reader.has("serving")) config.serving = read_serving(reader.object("serving"));
  if (reader.has("tracing")) config.tracing = read_tracing(reader.object("tracing"));
  if (reader.has("vertical")) config.vertical = read_vertical(reader.object("vertical"));
  reader.read("keys_dir", config.keys_dir);
  config.blobs = read_blobs(reader.object("blobs"));
  reader.read("blobs_dir", config.blobs_dir);
  if (config.blobs.s3 && !config.blobs_dir.empty()) reader.problem("blobs_dir", "is not for blobs in S3");
  read_ingest(reader.object("ingest"), config.ingest);
  read_selection(reader.object("selection"), config.desk, config.pace);
  read_overload(reader.object("overload"), config.overload);
  read_retention(reader.object("retention"), config.retention);
  read_quotas(reader.object("quotas"), config.quotas);
  config.authority_key = read_authority_key(reader);
  reader.read("authority_revocations_file", config.authority_revocations_file);
  if (!config.authority_revocations_file.empty() && config.authority_key.empty()) {
    reader.problem("authority_revocations_file", "needs the authority_key that the list is signed with");
  }
  reader.read("threads", config.threads);
  reader.read("clock_skew_ms_max", config.clock_skew_max);
  reader.read("shutdown_ms_max", config.shutdown_max);
  reader.read("log_level", config.log_level);
  if (config.data_dir.empty()) reader.problem("data_dir", "must not be empty");
  if (config.node.empty() || config.node.size() > 64) reader.problem("node", "must have 1 to 64 characters");
  if (config.threads > 256) reader.problem("threads", "must be at most 256");
  check_sharing(config, reader);
  const auto levels = {"debug", "info", "warning", "error"};
  if (std::find(levels.begin(), levels.end(), config.log_level) == levels.end()) {
    reader.problem("log_level", "must be one of: debug, info, warning, error");
  }
  reader.finish();
  return config;
}

}  // namespace coterie
