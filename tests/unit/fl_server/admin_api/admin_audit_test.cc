// The audit log of a running server: every change is in it, twice; refusals, too; damage is found; no secret
// gets into it.
#include <gmock/gmock.h>

#include <mutex>
#include <regex>

#include "base/log.h"
#include "fl_server/admin_api/route.h"
#include "fl_server/store/directory_blob_store.h"
#include "fl_server/store/sql/sqlite.h"
#include "fl_server/store/sql_admin_store.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"
#include "tools/admin/audit_records.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class AdminAudit : public test::AdminServerTest {
 protected:
  std::vector<json> records(const std::string& query = "") {
    const json document = ask("GET", "/admin/v1/audit?limit=1000" + query).document();
    return document.at("records");
  }
  Result<VerifiedAudit> verify(const std::optional<AuditHead>& noted = {}) {
    const auto get = [this](const std::string& target) -> Result<json> {
      return ask("GET", "/admin/v1/" + target).document();
    };
    return verify_audit(get, noted);
  }
  // "action target outcome" of all records of this query.
  std::vector<std::string> lines(const std::string& query = "") {
    std::vector<std::string> all;
    for (const json& record : records(query)) {
      all.push_back(record["action"].get<std::string>() + " " + record["target"].get<std::string>() + " " +
                    record["outcome"].dump());
    }
    return all;
  }
  void tamper(const char* sql) {
    Result<Database> database = open_sqlite(directory_ / "data/coterie.sqlite3");
    ASSERT_OK(database);
    ASSERT_OK(
        database->execute("DROP TRIGGER IF EXISTS audit_is_never_changed; DROP TRIGGER IF EXISTS audit_is_never_cut"));
    ASSERT_OK(database->execute(sql));
  }
};

TEST_F(AdminAudit, HasWhatWasDoneBeforeAndAfter) {
  const Answer made = ask("POST", "/admin/v1/enrollment-tokens", R"({"uses": 2})");
  ASSERT_EQ(made.status, 201);
  const std::string location(made.head.header("location"));
  EXPECT_EQ(location, "/admin/v1/enrollment-tokens/" + made.document()["id"].get<std::string>());
  EXPECT_EQ(ask("POST", "/admin/v1/jobs/none:pause").status, 404);
  EXPECT_EQ(ask("POST", "/admin/v1/jobs", std::string((1 << 20) + 1, ' ')).status, 413);
  const Answer wrong = ask("POST", "/admin/v1/jobs/none:pause?x=%");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(ask("GET", "/admin/v1/jobs").status, 200);
  EXPECT_THAT(lines(), ElementsAre("enrollment_token.create /admin/v1/enrollment-tokens 0",
                                   "enrollment_token.create " + location + " 201",
                                   "job.pause /admin/v1/jobs/none:pause 0", "job.pause /admin/v1/jobs/none:pause 404",
                                   "job.create /admin/v1/jobs 413", "job.pause /admin/v1/jobs/none:pause 400"));
  const std::vector<json> all = records();
  EXPECT_EQ(all[0]["who"], "admin-token");
  EXPECT_EQ(all[0]["roles"], "viewer, operator, ml_engineer, privacy_officer, security_admin");
  EXPECT_EQ(all[0]["request"], std::string(made.head.header("coterie-request-id")));
  EXPECT_EQ(all[1]["request"], all[0]["request"]);
  EXPECT_NE(all[2]["request"], all[0]["request"]);
  EXPECT_EQ(all[5]["request"], std::string(wrong.head.header("coterie-request-id")));
  EXPECT_OK(verify());
}

TEST_F(AdminAudit, HasWhatWasRefusedButNotTheWordsOfStrangers) {
  const json viewer = ask("POST", "/admin/v1/tokens", R"({"label": "v", "roles": ["viewer"]})").document();
  EXPECT_EQ(ask_as("Bearer " + viewer["token"].get<std::string>(), "POST", "/admin/v1/jobs/j1:cancel").status, 403);
  EXPECT_EQ(ask_as("Bearer x", "POST", "/admin/v1/jobs/a-strangers-words:cancel").status, 401);
  EXPECT_EQ(ask_as("Bearer x", "GET", "/admin/v1/jobs").status, 401);
  EXPECT_THAT(lines("&action=job.cancel"),
              ElementsAre("job.cancel /admin/v1/jobs/j1:cancel 403", "job.cancel /admin/v1/jobs/{job}:cancel 401"));
  EXPECT_EQ(records("&action=job.cancel")[1]["who"], "-");
  EXPECT_THAT(lines("&who=" + viewer["id"].get<std::string>()), ElementsAre("job.cancel /admin/v1/jobs/j1:cancel 403"));
  for (int i = 0; i < 50; ++i) ask_as("Bearer x", "POST", "/admin/v1/jobs/j:cancel");
  EXPECT_LE(records().size(), 40u) << "strangers cannot fill it";
  EXPECT_OK(verify());
}

// No route that changes something is forgotten: whatever comes of it, it has begun and ended in the log.
TEST_F(AdminAudit, HasEveryRouteThatHasAnAction) {
  size_t asked = 0;
  for (const AdminRoute& route : admin_routes()) {
    if (route.action.empty()) continue;
    const std::string path = std::regex_replace(std::string(route.pattern), std::regex("\\{[a-z_]+\\}"), "0000");
    const Answer answer = ask(route.method, path, route.body == AdminBody::none ? "" : "[");
    const std::vector<std::string> expected = {
        std::string(route.action) + " " + path + " 0",
        std::string(route.action) + " " + path + " " + std::to_string(answer.status)};
    EXPECT_EQ(lines("&action=" + std::string(route.action)), expected) << route.operation;
    ++asked;
  }
  EXPECT_GE(asked, 11u);
  EXPECT_OK(verify());
}

TEST_F(AdminAudit, IsPaged) {
  for (int i = 0; i < 3; ++i) ask("POST", "/admin/v1/jobs/none:pause");
  const json first = ask("GET", "/admin/v1/audit?limit=4").document();
  EXPECT_EQ(first["records"].size(), 4u);
  EXPECT_EQ(first["next_after"], 4);
  EXPECT_EQ(first["head"]["seq"], 6);
  const json second = ask("GET", "/admin/v1/audit?limit=4&after=4").document();
  EXPECT_EQ(second["records"].size(), 2u);
  EXPECT_FALSE(second.contains("next_after"));
  EXPECT_EQ(second["records"][1]["digest"], second["head"]["digest"]);
  EXPECT_EQ(ask("GET", "/admin/v1/audit?limit=1001&after=-1").document()["errors"].size(), 2u);
}

TEST_F(AdminAudit, ShowsWhoeverVerifiesItThatItWasTamperedWith) {
  for (int i = 0; i < 4; ++i) ask("POST", "/admin/v1/jobs/none:pause");
  const Result<VerifiedAudit> verified = verify();
  ASSERT_OK(verified);
  const AuditHead head = verified->head;
  EXPECT_EQ(head.seq, 8u);
  tamper("UPDATE audit SET who = 'somebody' WHERE seq = 5");
  EXPECT_ERROR(verify(), ErrorCode::data_loss, "record 5 is not what was written");
  tamper("UPDATE audit SET who = 'admin-token' WHERE seq = 5");
  EXPECT_OK(verify(head));
  tamper("DELETE FROM audit WHERE seq > 6");
  EXPECT_OK(verify());
  EXPECT_ERROR(verify(head), ErrorCode::data_loss, "ends with record 6, but record 8 was noted");
  tamper("DELETE FROM audit WHERE seq = 2");
  EXPECT_ERROR(verify(head), ErrorCode::data_loss, "record 2 is not there");
}

// The chain goes through records that are in a file now, and ends at the seal of those that are nowhere any more.
TEST_F(AdminAudit, IsVerifiedAcrossSegments) {
  for (int i = 0; i < 15; ++i) ask("POST", "/admin/v1/jobs/none:pause");
  const AuditHead noted = verify().value().head;
  ASSERT_EQ(noted.seq, 30u);
  const auto store = SqlAdminStore::open(open_sqlite(directory_ / "data/coterie.sqlite3"));
  ASSERT_OK(store);
  const auto blobs = DirectoryBlobStore::open_directory(directory_ / "data/blobs");
  ASSERT_OK(blobs);
  std::vector<AuditSegment> segments;
  for (AuditHead before; before.seq < 20;) {
    const auto records = (*store)->list_audit({.after = before.seq, .limit = 10});
    ASSERT_OK(records);
    const Bytes file = encode_audit_segment(before, *records).value();
    segments.push_back({.before = before,
                        .head = {records->back().entry.seq, records->back().digest},
                        .blob = (*blobs)->put(file).value(),
                        .bytes = file.size(),
                        .sealed = wall_time_from_unix_ms(static_cast<int64_t>(before.seq))});
    ASSERT_OK((*store)->seal_audit(segments.back()));
    before = segments.back().head;
  }
  const std::vector<json> all = records();
  EXPECT_EQ(*(*store)->forget_audit(15), 15u);
  EXPECT_EQ(records(), all) << "half of a segment's rows are gone";
  EXPECT_EQ(*(*store)->forget_audit(15), 5u);
  EXPECT_EQ(records(), all);
  EXPECT_EQ(verify(noted).value(), (VerifiedAudit{{}, noted}));
  const json page = ask("GET", "/admin/v1/audit?after=8&limit=14").document();
  EXPECT_EQ(page["records"].front()["seq"], 9);
  EXPECT_EQ(page["next_after"], 22) << "a page of two files and of rows";
  EXPECT_EQ(ask("GET", "/admin/v1/audit?limit=20&action=job.pause").document()["records"].size(), 20u);

  // The first file is not kept any longer.
  EXPECT_EQ((*store)->drop_audit_segments(wall_time_from_unix_ms(5)).value(), std::vector{segments[0]});
  ASSERT_OK((*blobs)->remove(*segments[0].blob));
  EXPECT_EQ(verify(noted).value(), (VerifiedAudit{segments[0].head, noted}));
  EXPECT_OK(verify(segments[0].head)) << "the seal is one that was noted";
  EXPECT_OK(verify(segments[1].head));
  EXPECT_ERROR(verify(AuditHead{4, noted.digest}), ErrorCode::data_loss, "begins behind record 10");
  EXPECT_ERROR(verify(AuditHead{10, noted.digest}), ErrorCode::data_loss, "the seal of record 10");
  tamper("UPDATE audit_segment SET digest = zeroblob(32) WHERE seq = 10");
  EXPECT_ERROR(verify(noted), ErrorCode::data_loss, "record 11 is not what was written");
  EXPECT_EQ(ask("GET", "/admin/v1/audit").document()["begins_after"]["seq"], 10);

  // A file that is away is no end of the log.
  ASSERT_OK((*blobs)->remove(*segments[1].blob));
  const Answer missing = ask("GET", "/admin/v1/audit");
  EXPECT_EQ(missing.status, 500);
  EXPECT_THAT(missing.body, HasSubstr("records 11 to 20 is missing"));
}

TEST_F(AdminAudit, ThatCannotBeWrittenLetsNothingBeDone) {
  const std::string id = ask("POST", "/admin/v1/enrollment-tokens", "{}").document()["id"];
  tamper("CREATE TRIGGER no_more BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
  const Answer refused = ask("DELETE", "/admin/v1/enrollment-tokens/" + id);
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("nothing was done, as the audit log cannot be written"));
  EXPECT_EQ(ask("GET", "/admin/v1/enrollment-tokens").document()["tokens"].size(), 1u) << "it is still there";
  tamper(
      "DROP TRIGGER no_more; CREATE TRIGGER no_end BEFORE INSERT ON audit WHEN NEW.outcome > 0 "
      "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
  const Answer half = ask("DELETE", "/admin/v1/enrollment-tokens/" + id);
  EXPECT_THAT(half.body, HasSubstr("it was carried out, with status 204, but the audit log has only that request"));
  EXPECT_EQ(ask("GET", "/admin/v1/enrollment-tokens").document()["tokens"].size(), 0u);
  tamper("DROP TRIGGER no_end");
  EXPECT_EQ(lines("&action=enrollment_token.remove"),
            std::vector<std::string>{"enrollment_token.remove /admin/v1/enrollment-tokens/" + id + " 0"});
}

// ---- Canaries

std::mutex g_log_mutex;
std::string g_log;

void keep_log(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  const std::lock_guard lock(g_log_mutex);
  g_log += to_json_line(level, event, fields) + "\n";
}

TEST_F(AdminAudit, HoldsNoSecretAndNeitherDoesTheLog) {
  set_log_sink(&keep_log);
  std::vector<std::string> secrets = {token_, "canary-of-a-strangers-token", "canary-in-a-body"};
  const auto secret_of = [&](const std::string& target, const std::string& body) {
    const json made = ask("POST", target, body).document();
    secrets.push_back(made["token"]);
    return made;
  };
  secret_of("/admin/v1/enrollment-tokens", R"({"uses": 2})");
  const json admin = secret_of("/admin/v1/tokens", R"({"label": "ops", "roles": ["operator"]})");
  const std::string bearer = "Bearer " + admin["token"].get<std::string>();
  ask_as(bearer, "POST", "/admin/v1/jobs/none:pause");
  ask_as(bearer, "POST", "/admin/v1/tokens", R"({"label": "canary-in-a-body"})");
  ask_as("Bearer canary-of-a-strangers-token", "POST", "/admin/v1/jobs/none:pause");
  ask_as(bearer + "x", "POST", "/admin/v1/jobs/none:pause");
  ask("POST", "/admin/v1/jobs", R"({"canary-in-a-body": )");
  ask("POST", "/admin/v1/models", "canary-in-a-body");
  ask("DELETE", "/admin/v1/tokens/" + admin["id"].get<std::string>());
  headers_ = {{"Cookie", "canary-of-a-strangers-token"}, {"traceparent", "canary-of-a-strangers-token"}};
  ask("GET", "/admin/v1/jobs/none?x=canary-in-a-body");
  ask("GET", "/canary-in-a-body");
  headers_.clear();
  std::vector<std::string> keys;
  for (const char* name : {"keys/ticket.key", "keys/noise.key", "keys/signing.key"}) {
    const Bytes key = os::read_file(directory_ / ("data/" + std::string(name)), 1 << 10).value();
    keys.insert(keys.end(), {std::string(as_text(key)), to_hex(key), to_base64url(key)});
  }
  for (const char* name : {"tls/ca-key.pem", "tls/server-key.pem"}) {
    const std::string pem = read(directory_ / ("data/" + std::string(name)));
    keys.push_back(pem.substr(pem.find('\n') + 1, 32));
  }
  // What is wrong with a file of secrets is said without the secret.
  ASSERT_OK(os::write_file_atomically(directory_ / "data/tls/server-key.pem",
                                      as_bytes(std::string_view("canary-of-a-private-key"))));
  EXPECT_EQ(server_->rotate_files(), 0u);
  secrets.push_back("canary-of-a-private-key");
  const std::string audit = ask("GET", "/admin/v1/audit?limit=1000").body;
  server_->stop();
  set_log_sink(nullptr);
  const std::lock_guard lock(g_log_mutex);
  EXPECT_THAT(g_log, HasSubstr("admin_token_created")) << "the sink sees the events";
  EXPECT_THAT(audit, HasSubstr("admin_token.create"));
  EXPECT_THAT(g_log, HasSubstr("files_not_rotated"));
  for (const std::string& key : keys) {
    ASSERT_GE(key.size(), 32u);
    EXPECT_THAT(g_log, Not(HasSubstr(key)));
    EXPECT_THAT(audit, Not(HasSubstr(key)));
  }
  for (const std::string& secret : secrets) {
    ASSERT_GE(secret.size(), 16u);
    const std::string tail = secret.substr(secret.size() - 16);
    EXPECT_THAT(g_log, Not(HasSubstr(tail)));
    EXPECT_THAT(audit, Not(HasSubstr(tail)));
  }
}

// What a server says that cannot reach its database has not the password in it.
TEST_F(AdminAudit, AndNoPasswordIsSaidByAServerThatDoesNotStart) {
  const std::string conninfo = directory_ / "conninfo";
  for (const char* text :
       {"host=127.0.0.1 port=1 user=u password=canary-of-a-password", "host=127.0.0.1 password='canary-of-a-password",
        "postgresql://u:canary-of-a-password@127.0.0.1:1/db?nonsense=1"}) {
    ASSERT_OK(os::write_file_atomically(conninfo, as_bytes(std::string_view(text))));
    ServerConfig config;
    config.data_dir = directory_ / "other";
    config.store.engine = "postgres";
    config.store.conninfo_file = conninfo;
    set_log_sink(&keep_log);
    const auto server = Server::start(config, [](const std::string&) {});
    set_log_sink(nullptr);
    ASSERT_FALSE(server.has_value());
    EXPECT_THAT(server.error().message(), Not(HasSubstr("canary")));
    const std::lock_guard lock(g_log_mutex);
    EXPECT_THAT(g_log, Not(HasSubstr("canary-of-a-password")));
  }
}

}  // namespace
}  // namespace coterie
