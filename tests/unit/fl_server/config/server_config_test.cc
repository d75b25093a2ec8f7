#include "fl_server/config/server_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using test::pointers_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

ServerConfig read(std::string_view text, Problems& problems) { return server_config_from_json(text, problems); }

Problems problems_of(std::string_view text) {
  Problems problems;
  read(text, problems);
  return problems;
}

TEST(ServerConfig, HasADefaultForEverything) {
  Problems problems;
  const ServerConfig config = read("{}", problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(config.role, ServerRole::all);
  EXPECT_EQ(config.data_dir, "coterie-data");
  EXPECT_EQ(config.node, "node-0");
  EXPECT_EQ(config.device.address, "0.0.0.0");
  EXPECT_EQ(config.device.port, 8443);
  EXPECT_EQ(config.admin.address, "127.0.0.1") << "operators are on the same machine unless somebody says otherwise";
  EXPECT_EQ(config.admin.port, 8444);
  EXPECT_THAT(config.tls.certificate_file, IsEmpty());
  EXPECT_EQ(config.ingest.bytes_in_flight_max, 1ull << 30);
  EXPECT_FALSE(config.serving) << "nobody is answered with a model unless somebody says so";
  EXPECT_EQ(config.threads, 0u);
  EXPECT_EQ(config.clock_skew_max, Millis(300'000));
  EXPECT_EQ(config.log_level, "info");
  const ServerConfig retention = read(R"({"retention": {"models_kept": 3}})", problems);
  EXPECT_EQ(retention.retention.audit_kept, RetentionSettings{}.audit_kept) << "90 days, more than 32 bits hold";
}

TEST(ServerConfig, ASharedStoreNeedsWhatServersShareAndANameOfItsOwn) {
  EXPECT_THAT(pointers_of(problems_of(R"({"store": {"engine": "postgres"}})")),
              UnorderedElementsAre("/store/conninfo_file", "/keys_dir", "/blobs_dir", "/node"));
  EXPECT_THAT(pointers_of(problems_of(R"({"store": {"conninfo_file": "pg"}})")), ElementsAre("/store/conninfo_file"));
  EXPECT_THAT(pointers_of(problems_of(R"({"store": {"engine": "mysql"}})")), ElementsAre("/store/engine"));
  EXPECT_THAT(pointers_of(problems_of(R"({"node": "a/b", "keys_dir": "k", "blobs_dir": "b",
                                          "store": {"engine": "postgres", "conninfo_file": "pg"}})")),
              ElementsAre("/node"));
  EXPECT_THAT(pointers_of(problems_of(R"({"lease": {"ttl_ms": 499, "renew_ms": 300}})")),
              UnorderedElementsAre("/lease/ttl_ms", "/lease/renew_ms"));
}

TEST(ServerConfig, TakesEveryKeyItDocuments) {
  Problems problems;
  const ServerConfig config = read(R"({
    "role": "scheduler", "data_dir": "/var/lib/coterie", "node": "n7", "threads": 256,
    "authority_key": "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "authority_revocations_file": "r.list", "clock_skew_ms_max": 1,
    "shutdown_ms_max": 2, "log_level": "debug",
    "device": {"address": "::", "port": 0, "connections_max": 3, "connections_per_address_max": 20,
               "trusted_addresses": ["10.0.0.0/8"], "stranger_idle_ms_max": 21, "handshakes_max": 19,
               "handshake_ms_max": 4, "head_ms_max": 5, "idle_ms_max": 6, "body_grace_ms": 7,
               "body_bytes_per_second_min": 8, "answer_ms_max": 9, "bodies_bytes_max": 4194304},
    "admin": {"address": "::1", "port": 65535, "upload_bytes_max": 1048576,
              "event_streams_max": 48},
    "serving": {"address": "0.0.0.0", "port": 8501, "grpc_port": 8502, "jobs": ["j7k2q"], "populations": ["phones"],
                "steps": {"phones": "steps.json"},
                "models_max": 3, "threads": 2, "bytes_max": 2097152, "workers": 4, "batch_max": 5,
                "waiting_max": 6, "wait_ms_max": 7, "body_bytes_max": 8, "version_bytes_max": 1048576,
                "canary_percent": 9, "shadow": true},
    "store": {"engine": "postgres", "conninfo_file": "pg", "schema": "s", "statement_ms_max": 100, "lock_ms_max": 10},
    "lease": {"ttl_ms": 600, "renew_ms": 51}, "fleet": {"poll_ms": 10, "silence_ms_max": 500},
    "peer": {"address": "0.0.0.0", "port": 8445, "url": "https://n7:8445", "certificate_file": "p.pem",
             "key_file": "pk.pem",
             "ca_file": "pca.pem", "connections_max": 17},
    "keys_dir": "k", "blobs_dir": "b",
    "tls": {"certificate_file": "c.pem", "key_file": "k.pem", "names": ["fl.example.org"]},
    "ingest": {"bytes_in_flight_max": 1048576, "uploads_queued_max": 10, "queued_ms_max": 11, "batch_updates_max": 4096,
               "linger_ms_min": 12, "linger_ms_max": 13},
    "selection": {"waiters_max": 14, "hold_ms_max": 15, "checkins_per_second_max": 16},
    "overload": {"queue_delay_ms": 20, "burst_ms": 21, "device_requests_per_second": 0.5, "device_requests_burst": 22,
                 "stranger_requests_per_second": 0, "stranger_requests_burst": 23, "callers_max": 24},
    "vertical": {"address": "meeting.example", "port": 4711, "name": "meeting", "ca_file": "a", "certificate_file": "c",
                 "key_file": "k", "tenant": "acme", "answer_ms_max": 100, "look_ms": 200},
    "tracing": {"otlp_url": "https://c.example/v1/traces", "ca_file": "ca", "token_file": "token"},
    "retention": {"models_kept": 31, "models_kept_every": 32, "superseded_ms_min": 60033, "accepted_ms": 60034,
                  "rounds_kept": 35, "rounds_ms_min": 60036, "uploads_ms": 3600037, "look_ms": 138,
                  "devices_days": 39, "audit_ms": 4000, "audit_segment_records": 41, "audit_segments_ms": 4200},
    "quotas": {"blob_bytes_max": 41, "uploads_max": 42, "jobs_max": 43, "admin_tokens_max": 44,
               "enrollment_tokens_max": 45, "idempotency_keys_max": 46, "event_streams_max": 47}})",
                                   problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(config.data_dir, "/var/lib/coterie");
  EXPECT_EQ(config.node, "n7");
  EXPECT_EQ(config.store.engine, "postgres");
  EXPECT_EQ(config.store.conninfo_file, "pg");
  EXPECT_EQ(config.store.schema, "s");
  EXPECT_EQ(config.store.statement_max, Millis(100));
  EXPECT_EQ(config.store.lock_max, Millis(10));
  EXPECT_EQ(config.lease.ttl, Millis(600));
  EXPECT_EQ(config.lease.renew_every, Millis(51));
  EXPECT_EQ(config.role, ServerRole::scheduler);
  EXPECT_EQ(config.fleet.poll_every, Millis(10));
  EXPECT_EQ(config.fleet.silence_max, Millis(500));
  EXPECT_EQ(config.fleet.say_every, Millis(125)) << "several words are lost before a node counts as dead";
  EXPECT_EQ(config.peer.listen.port, 8445);
  EXPECT_EQ(config.peer.listen.limits.connections_max, 17u);
  EXPECT_EQ(config.peer.url, "https://n7:8445");
  EXPECT_EQ(config.peer.certificate_file, "p.pem");
  EXPECT_EQ(config.peer.key_file, "pk.pem");
  EXPECT_EQ(config.peer.ca_file, "pca.pem");
  EXPECT_EQ(config.keys_dir, "k");
  EXPECT_EQ(config.blobs_dir, "b");
  EXPECT_EQ(config.authority_revocations_file, "r.list");
  ASSERT_TRUE(config.vertical);
  EXPECT_EQ(config.vertical->address, "meeting.example");
  EXPECT_EQ(config.vertical->port, 4711);
  EXPECT_EQ(config.vertical->name, "meeting");
  EXPECT_EQ(config.vertical->certificate_file, "c");
  EXPECT_EQ(config.vertical->tenant, "acme");
  EXPECT_EQ(config.vertical->answer_max, Millis(100));
  EXPECT_EQ(config.vertical->look_every, Millis(200));
  ASSERT_TRUE(config.serving);
  EXPECT_EQ(config.serving->listen.port, 8501);
  EXPECT_EQ(config.serving->grpc_port, 8502);
  EXPECT_THAT(config.serving->jobs, ElementsAre("j7k2q"));
  EXPECT_THAT(config.serving->populations, ElementsAre("phones"));
  EXPECT_EQ(config.serving->steps.at("phones"), "steps.json");
  EXPECT_EQ(config.serving->models_max, 3u);
  EXPECT_EQ(config.serving->threads, 2u);
  EXPECT_EQ(config.serving->bytes_max, 2u << 20);
  EXPECT_EQ(config.serving->workers, 4u);
  EXPECT_EQ(config.serving->batch_max, 5u);
  EXPECT_EQ(config.serving->waiting_max, 6u);
  EXPECT_EQ(config.serving->wait_max, Millis(7));
  EXPECT_EQ(config.serving->body_bytes_max, 8u);
  EXPECT_EQ(config.serving->version_bytes_max, 1u << 20);
  EXPECT_EQ(config.serving->canary_percent, 9u);
  EXPECT_TRUE(config.serving->has_shadow);
  EXPECT_EQ(config.threads, 256u);
  EXPECT_EQ(config.clock_skew_max, Millis(1));
  EXPECT_EQ(config.shutdown_max, Millis(2));
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_EQ(config.device.address, "::");
  EXPECT_EQ(config.device.port, 0);
  const HttpLimits& limits = config.device.limits;
  EXPECT_EQ(limits.connections_max, 3u);
  EXPECT_EQ(limits.handshakes_max, 19u);
  EXPECT_EQ(limits.handshake_max, Millis(4));
  EXPECT_EQ(limits.head_max, Millis(5));
  EXPECT_EQ(limits.idle_max, Millis(6));
  EXPECT_EQ(limits.body_grace, Millis(7));
  EXPECT_EQ(limits.body_bytes_per_second_min, 8u);
  EXPECT_EQ(limits.answer_max, Millis(9));
  EXPECT_EQ(limits.bodies_bytes_max, 4194304u);
  EXPECT_EQ(limits.connections_per_address_max, 20u);
  EXPECT_THAT(limits.trusted_addresses, ElementsAre(*AddressRange::parse("10.0.0.0/8")));
  EXPECT_EQ(limits.stranger_idle_max, Millis(21));
  EXPECT_EQ(config.admin.limits.trusted_addresses, loopback_addresses());
  EXPECT_EQ(config.upload_bytes_max, 1u << 20);
  EXPECT_EQ(config.admin.address, "::1");
  EXPECT_EQ(config.admin.port, 65535);
  EXPECT_EQ(config.admin.limits.connections_max, HttpLimits().connections_max) << "the planes are apart";
  EXPECT_EQ(config.tls.certificate_file, "c.pem");
  EXPECT_EQ(config.tls.key_file, "k.pem");
  EXPECT_THAT(config.tls.names, ElementsAre("fl.example.org"));
  EXPECT_EQ(config.ingest.bytes_in_flight_max, 1048576u);
  EXPECT_EQ(config.ingest.uploads_queued_max, 10u);
  EXPECT_EQ(config.ingest.queued_max, Millis(11));
  EXPECT_EQ(config.ingest.batch_updates_max, 4096u);
  EXPECT_EQ(config.ingest.linger_min, Millis(12));
  EXPECT_EQ(config.ingest.linger_max, Millis(13));
  EXPECT_EQ(config.desk.waiters_max, 14u);
  EXPECT_EQ(config.desk.hold_max, Millis(15));
  EXPECT_EQ(config.pace.checkins_per_second_max, 16u);
  EXPECT_EQ(config.overload.queue.target, Millis(20));
  EXPECT_EQ(config.overload.queue.interval, Millis(21));
  EXPECT_EQ(config.overload.device.per_second, 0.5);
  EXPECT_EQ(config.overload.device.burst, 22u);
  EXPECT_EQ(config.overload.device.callers_max, 24u);
  EXPECT_EQ(config.overload.stranger.per_second, 0);
  EXPECT_EQ(config.overload.stranger.burst, 23u);
  EXPECT_EQ(config.overload.stranger.callers_max, 24u);
  ASSERT_TRUE(config.tracing);
  EXPECT_EQ(config.tracing->otlp_url, "https://c.example/v1/traces");
  EXPECT_EQ(config.tracing->ca_file, "ca");
  EXPECT_EQ(config.tracing->token_file, "token");
  EXPECT_EQ(config.retention.models_kept, 31u);
  EXPECT_EQ(config.retention.models_kept_every, 32u);
  EXPECT_EQ(config.retention.superseded_min, Millis(60'033));
  EXPECT_EQ(config.retention.accepted_kept, Millis(60'034));
  EXPECT_EQ(config.retention.rounds_kept, 35u);
  EXPECT_EQ(config.retention.rounds_kept_min, Millis(60'036));
  EXPECT_EQ(config.retention.uploads_kept, Millis(3'600'037));
  EXPECT_EQ(config.retention.devices_days, 39u);
  EXPECT_EQ(config.retention.audit_kept, Millis(4'000));
  EXPECT_EQ(config.retention.audit_segment_records, 41u);
  EXPECT_EQ(config.retention.audit_segments_kept, Millis(4'200));
  EXPECT_EQ(config.retention.look_every, Millis(138));
  EXPECT_EQ(config.quotas.blob_bytes_max, 41u);
  EXPECT_EQ(config.quotas.uploads_max, 42u);
  EXPECT_EQ(config.quotas.jobs_max, 43u);
  EXPECT_EQ(config.quotas.admin_tokens_max, 44u);
  EXPECT_EQ(config.quotas.enrollment_tokens_max, 45u);
  EXPECT_EQ(config.quotas.idempotency_keys_max, 46u);
  EXPECT_EQ(config.quotas.event_streams_max, 47u);
  EXPECT_EQ(config.event_streams_max, 48u);
}

TEST(ServerConfig, NamesTheKeyOfEveryLimitThatIsBroken) {
  struct Case {
    const char* text;
    const char* pointer;
    const char* words;
  };
  const Case cases[] = {
      {R"({"role": "ingest"})", "/role", "all, server, scheduler"},
      {R"({"role": "server"})", "/role", "\"all\" with sqlite"},
      {R"({"fleet": {"poll_ms": 9}})", "/fleet/poll_ms", "[10, 10000]"},
      {R"({"fleet": {"poll_ms": 200, "silence_ms_max": 799}})", "/fleet/silence_ms_max", "four times"},
      {R"({"peer": {"address": "0.0.0.0"}})", "/peer/url", "wildcard"},
      {R"({"peer": {"url": "http://n7"}})", "/peer/url", "https://"},
      {R"({"peer": {"ca_file": "ca.pem"}})", "/peer/ca_file", "go together"},
      {R"({"data_dir": ""})", "/data_dir", "empty"},
      {R"({"serving": {"models_max": 0}})", "/serving/models_max", "[1, 1000]"},
      {R"({"serving": {"canary_percent": 101}})", "/serving/canary_percent", "at most 100"},
      {R"({"serving": {"workers": 257}})", "/serving/workers", "at most 256"},
      {R"({"serving": {"threads": 0}})", "/serving/threads", "[1, 256]"},
      {R"({"serving": {"bytes_max": 1048576}})", "/serving/bytes_max", "at least version_bytes_max"},
      {R"({"serving": {"batch_max": 1025}})", "/serving/batch_max", "[1, 1024]"},
      {R"({"serving": {"waiting_max": 0}})", "/serving/waiting_max", "at least 1"},
      {R"({"serving": {"wait_ms_max": 120001}})", "/serving/wait_ms_max", "answer_ms_max"},
      {R"({"serving": {"body_bytes_max": 134217729}})", "/serving/body_bytes_max", "half of bodies_bytes_max"},
      {R"({"serving": {"version_bytes_max": 1}})", "/serving/version_bytes_max", "1048576"},
      {R"({"node": ""})", "/node", "1 to 64"},
      {R"({"node": "12345678901234567890123456789012345678901234567890123456789012345"})", "/node", "1 to 64"},
      {R"({"threads": 257})", "/threads", "at most 256"},
      {R"({"log_level": "Info"})", "/log_level", "debug, info, warning, error"},
      {R"({"device": {"address": ""}})", "/device/address", "empty"},
      {R"({"device": {"port": 65536}})", "/device/port", "[0, 65535]"},
      {R"({"device": {"connections_max": 0}})", "/device/connections_max", "at least 1"},
      {R"({"admin": {"body_bytes_per_second_min": 0}})", "/admin/body_bytes_per_second_min", "at least 1"},
      {R"({"device": {"connections_per_address_max": 0}})", "/device/connections_per_address_max", "at least 1"},
      {R"({"device": {"trusted_addresses": ["10.0.0.1/8"]}})", "/device/trusted_addresses", "10.0.0.1/8 is no address"},
      {R"({"device": {"bodies_bytes_max": 4194303}})", "/device/bodies_bytes_max", "at least 4194304"},
      {R"({"admin": {"upload_bytes_max": 536870913}})", "/admin/upload_bytes_max", "half of bodies_bytes_max"},
      {R"({"admin": {"upload_bytes_max": 0}})", "/admin/upload_bytes_max", "at least 1"},
      {R"({"admin": {"event_streams_max": 0}})", "/admin/event_streams_max", "[1, 10000]"},
      {R"({"admin": {"event_streams_max": 10001}})", "/admin/event_streams_max", "[1, 10000]"},
      {R"({"admin": {"head_ms_max": -1}})", "/admin/head_ms_max", "integer"},
      {R"({"tls": {"certificate_file": "c"}})", "/tls/key_file", "required"},
      {R"({"tls": {"key_file": "k"}})", "/tls/certificate_file", "required"},
      {R"({"tls": {"names": "a"}})", "/tls/names", "list of strings"},
      {R"({"ingest": {"bytes_in_flight_max": 1048575}})", "/ingest/bytes_in_flight_max", "at least 1048576"},
      {R"({"ingest": {"batch_updates_max": 0}})", "/ingest/batch_updates_max", "[1, 4096]"},
      {R"({"ingest": {"batch_updates_max": 4097}})", "/ingest/batch_updates_max", "[1, 4096]"},
      {R"({"selection": {"waiters_max": 0}})", "/selection/waiters_max", "at least 1"},
      {R"({"selection": {"checkins_per_second_max": 0}})", "/selection/checkins_per_second_max", "at least 1"},
      {R"({"selection": {"hold_ms_max": "1s"}})", "/selection/hold_ms_max", "integer"},
      {R"({"device": {"handshakes_max": 0}})", "/device/handshakes_max", "at least 1"},
      {R"({"overload": {"queue_delay_ms": 0}})", "/overload/queue_delay_ms", "[1, 60000]"},
      {R"({"overload": {"queue_delay_ms": 60001, "burst_ms": 60001}})", "/overload/queue_delay_ms", "[1, 60000]"},
      {R"({"overload": {"burst_ms": 99}})", "/overload/burst_ms", "at least queue_delay_ms"},
      {R"({"overload": {"device_requests_per_second": -1}})", "/overload/device_requests_per_second", "0: no limit"},
      {R"({"overload": {"stranger_requests_per_second": 0.0009}})", "/overload/stranger_requests_per_second", "0.001"},
      {R"({"overload": {"stranger_requests_burst": 0}})", "/overload/stranger_requests_burst", "at least 1"},
      {R"({"overload": {"callers_max": 0}})", "/overload/callers_max", "at least 1"},
      {R"({"tracing": {}})", "/tracing/otlp_url", "https://"},
      {R"({"tracing": {"otlp_url": "http://collector.example/v1/traces"}})", "/tracing/otlp_url", "http only"},
      {R"({"retention": {"models_kept": 0}})", "/retention/models_kept", "at least 1"},
      {R"({"retention": {"rounds_kept": 0}})", "/retention/rounds_kept", "at least 1"},
      {R"({"retention": {"superseded_ms_min": 999}})", "/retention/superseded_ms_min", "at least 1000"},
      {R"({"retention": {"accepted_ms": 999}})", "/retention/accepted_ms", "at least 1000"},
      {R"({"retention": {"rounds_ms_min": 5000, "accepted_ms": 5001}})", "/retention/rounds_ms_min", "accepted_ms"},
      {R"({"retention": {"uploads_ms": 3599999}})", "/retention/uploads_ms", "at least 3600000"},
      {R"({"retention": {"devices_days": 1, "accepted_ms": 86400001, "rounds_ms_min": 86400001}})",
       "/retention/devices_days", "accepted_ms"},
      {R"({"retention": {"audit_ms": 999}})", "/retention/audit_ms", "at least 1000"},
      {R"({"retention": {"audit_segment_records": 9}})", "/retention/audit_segment_records", "[10, 10000]"},
      {R"({"retention": {"audit_segment_records": 10001}})", "/retention/audit_segment_records", "[10, 10000]"},
      {R"({"retention": {"audit_segments_ms": 7775999999}})", "/retention/audit_segments_ms", "at least audit_ms"},
      {R"({"retention": {"audit_ms": 3162240000001}})", "/retention/audit_ms", "a hundred years"},
      {R"({"retention": {"look_ms": 99}})", "/retention/look_ms", "at least 100"},
      {R"({"quotas": {"jobs_max": 0}})", "/quotas/jobs_max", "at least 1"},
      {R"({"device": []})", "/device", "object"},
      {R"({"device": {"prot": 1}})", "/device/prot", "unknown key"},
      {R"({"Device": {}})", "/Device", "unknown key"},
      {R"({"admin_token": "secret"})", "/admin_token", "unknown key"},
  };
  for (const Case& bad : cases) {
    const Problems problems = problems_of(bad.text);
    ASSERT_EQ(problems.size(), 1u) << bad.text;
    EXPECT_EQ(problems[0].pointer, bad.pointer) << bad.text;
    EXPECT_THAT(problems[0].detail, HasSubstr(bad.words)) << bad.text;
  }
}

// Who is drawn must not be foretold where strangers' devices are.
TEST(DrawSeed, IsForAServerThatNobodyElseReaches) {
  ServerConfig config;
  EXPECT_OK(check_draw_seed(config)) << "none is given";
  config.draw_seed = 0;
  for (const char* address : {"0.0.0.0", "::", "10.0.0.1", "localhost.example", "1127.0.0.1", ""}) {
    config.device.address = address;
    EXPECT_ERROR(check_draw_seed(config), ErrorCode::invalid_argument, "can foretell who is drawn");
  }
  for (const char* address : {"127.0.0.1", "127.8.9.1", "::1"}) {
    config.device.address = address;
    EXPECT_OK(check_draw_seed(config)) << address;
  }
  config.store.engine = "postgres";
  EXPECT_ERROR(check_draw_seed(config), ErrorCode::invalid_argument, "a server alone") << "a fleet has other nodes";
}

TEST(ServerConfig, ANodeThatServesNeedsToKnowWhat) {
  const std::string fleet = R"("role": "serving", "node": "n", "keys_dir": "k", "blobs_dir": "b",
                               "store": {"engine": "postgres", "conninfo_file": "pg"})";
  EXPECT_THAT(pointers_of(problems_of("{" + fleet + "}")), ElementsAre("/serving"));
  Problems problems;
  const ServerConfig config = read("{" + fleet + R"(, "serving": {}})", problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_FALSE(config.serves_devices());
  EXPECT_FALSE(config.may_lead());
}

TEST(ServerConfig, ACoordinatorOfVerticalJobsNeedsAnAddressAndFiles) {
  EXPECT_THAT(pointers_of(problems_of(R"({"vertical": {}})")),
              UnorderedElementsAre("/vertical/address", "/vertical/port", "/vertical/name", "/vertical/ca_file",
                                   "/vertical/certificate_file", "/vertical/key_file"));
  const auto broken = [](const std::string& more) {
    return pointers_of(problems_of(R"({"vertical": {"name": "m", "ca_file": "a", "certificate_file": "c",
                                       "key_file": "k", )" +
                                   more + "}}"));
  };
  EXPECT_THAT(broken(R"("address": "", "port": 0)"), UnorderedElementsAre("/vertical/address", "/vertical/port"));
  EXPECT_THAT(broken(R"("address": "a", "port": 1, "tenant": "*")"), ElementsAre("/vertical/tenant"));
  EXPECT_THAT(broken(R"("address": "a", "port": 1, "answer_ms_max": 99)"), ElementsAre("/vertical/answer_ms_max"));
  EXPECT_THAT(broken(R"("address": "a", "port": 1, "look_ms": 99)"), ElementsAre("/vertical/look_ms"));
}

TEST(ServerConfig, WithFiveMistakesReportsAllFive) {
  const Problems problems = problems_of(R"({
    "threads": "four",
    "log_level": "loud",
    "device": {"port": 70000, "adress": "0.0.0.0"},
    "ingest": {"batch_updates_max": 0}})");
  EXPECT_THAT(pointers_of(problems), UnorderedElementsAre("/threads", "/log_level", "/device/port", "/device/adress",
                                                          "/ingest/batch_updates_max"));
}

TEST(ServerConfig, ThatIsNoJsonObjectIsOneProblem) {
  for (const char* text : {"", "port = 8443", "[]", "null", "\"all\"", "{\"role\": \"all\"", "{\"role\": \"all\",}"}) {
    const Problems problems = problems_of(text);
    ASSERT_EQ(problems.size(), 1u) << text;
    EXPECT_EQ(problems[0].pointer, "") << text;
  }
}

}  // namespace
}  // namespace coterie
