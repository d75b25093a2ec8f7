// The admin plane's tables in the server's file.
#include "fl_server/store/sqlite_admin_store.h"

#include <gtest/gtest.h>

#include "fl_server/store/admin_schema.h"
#include "fl_server/store/sqlite_round_store.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

class SqliteAdminStoreTest : public testing::Test {
 protected:
  std::string path() const { return directory_ / "db"; }
  std::unique_ptr<SqliteAdminStore> open() const {
    auto store = SqliteAdminStore::open(path());
    EXPECT_OK(store);
    return std::move(*store);
  }
  void execute(const char* sql) const {
    Result<Database> database = Database::open(path());
    ASSERT_OK(database);
    ASSERT_OK(database->execute(sql));
  }
  static AdminTokenRecord token(const std::string& id, int64_t created) {
    return {id,
            "of " + id,
            {Role::viewer, Role::operator_},
            "$argon2id$",
            "admin-token",
            wall_time_from_unix_ms(created),
            wall_time_from_unix_ms(created + 5)};
  }

  test::TemporaryDirectory directory_{test::memory_disk()};
};

TEST_F(SqliteAdminStoreTest, KeepsTokensAsTheyAreOldestFirst) {
  const auto store = open();
  ASSERT_OK(store->create_admin_token(token("bb", 20)));
  ASSERT_OK(store->create_admin_token(token("cc", 10)));
  ASSERT_OK(store->create_admin_token(token("aa", 20)));
  EXPECT_ERROR(store->create_admin_token(token("aa", 30)), ErrorCode::conflict, "");
  const auto list = open()->list_admin_tokens();
  ASSERT_OK(list);
  ASSERT_EQ(list->size(), 3u);
  EXPECT_EQ((*list)[0].id + (*list)[1].id + (*list)[2].id, "ccaabb");
  const auto one = store->get_admin_token("bb");
  ASSERT_OK(one);
  EXPECT_EQ(one->label, "of bb");
  EXPECT_EQ(one->roles, (RoleSet{Role::viewer, Role::operator_}));
  EXPECT_EQ(one->hash, "$argon2id$");
  EXPECT_EQ(one->creator, "admin-token");
  EXPECT_EQ(one->created, wall_time_from_unix_ms(20));
  EXPECT_EQ(one->expires, wall_time_from_unix_ms(25));
}

TEST_F(SqliteAdminStoreTest, RemovesATokenOnce) {
  const auto store = open();
  ASSERT_OK(store->create_admin_token(token("aa", 1)));
  ASSERT_OK(store->remove_admin_token("aa"));
  EXPECT_ERROR(store->remove_admin_token("aa"), ErrorCode::not_found, "admin token");
  EXPECT_ERROR(store->get_admin_token("aa"), ErrorCode::not_found, "admin token");
}

TEST_F(SqliteAdminStoreTest, LivesInTheFileOfTheOtherStoresInEitherOrder) {
  open();
  ASSERT_OK(SqliteRoundStore::open(path()));
  const auto store = open();
  EXPECT_OK(store->create_admin_token(token("aa", 1)));
  EXPECT_OK(SqliteRoundStore::open(path()));
}

TEST_F(SqliteAdminStoreTest, OfANewerSchemaIsRefused) {
  open();
  execute("UPDATE component SET version = 4 WHERE name = 'admin'");
  EXPECT_ERROR(SqliteAdminStore::open(path()), ErrorCode::unsupported_version,
               "version 4, this server speaks 3");
}

TEST_F(SqliteAdminStoreTest, WithoutItsTablesIsDataLoss) {
  open();
  execute("DROP TABLE admin_token");
  EXPECT_ERROR(open()->list_admin_tokens(), ErrorCode::data_loss, "no such table");
  EXPECT_ERROR(open()->get_admin_token("aa"), ErrorCode::data_loss, "no such table");
}

// ---- The audit log

TEST_F(SqliteAdminStoreTest, TiesEachAuditRecordToTheOneBeforeAlsoOverARestart) {
  AuditVerifier verifier;
  for (int i = 0; i < 6; ++i) {
    const auto store = open();
    const auto head = store->append_audit(
        {.time = wall_time_from_unix_ms(i), .who = i % 2 == 0 ? "a" : "b", .action = "x.y"});
    ASSERT_OK(head);
    EXPECT_EQ(head->seq, static_cast<uint64_t>(i + 1));
    EXPECT_EQ(*store->audit_head(), *head);
  }
  const auto all = open()->list_audit({});
  ASSERT_OK(all);
  for (const AuditRecord& record : *all) ASSERT_OK(verifier.append(record));
  EXPECT_EQ(verifier.head(), *open()->audit_head());
  const auto some = open()->list_audit({.after = 1, .limit = 2, .who = "b", .action = "x.y"});
  ASSERT_OK(some);
  ASSERT_EQ(some->size(), 2u);
  EXPECT_EQ((*some)[0].entry.seq, 2u);
  EXPECT_EQ((*some)[1].entry.seq, 4u);
  EXPECT_TRUE(open()->list_audit({.action = "x"})->empty());
}

TEST_F(SqliteAdminStoreTest, LetsNoAuditRecordBeChangedOrCutByMistake) {
  ASSERT_OK(open()->append_audit({.who = "a"}));
  Result<Database> database = Database::open(path());
  ASSERT_OK(database);
  EXPECT_ERROR(database->execute("UPDATE audit SET who = 'b'"), ErrorCode::conflict,
               "records stay as they are");
  EXPECT_ERROR(database->execute("DELETE FROM audit"), ErrorCode::conflict, "records stay");
}

TEST_F(SqliteAdminStoreTest, OfTheFirstSchemaGetsItsAuditLog) {
  ASSERT_OK(open()->create_admin_token(token("aa", 1)));
  execute("DROP TABLE audit; DROP TABLE idempotency; UPDATE component SET version = 1 WHERE name = 'admin'");
  const auto store = open();
  EXPECT_OK(store->append_audit({.who = "a"}));
  EXPECT_OK(store->get_admin_token("aa"));
}

// ---- Idempotency keys

const WallTime kNow = wall_time_from_unix_ms(1'000'000);
IdempotencyKey key_of(std::string_view key, std::string_view body = "{}") {
  return *make_idempotency_key(key, "caller", "createJob", as_bytes(body));
}

TEST_F(SqliteAdminStoreTest, GivesAKeyToOneAndItsAnswerToTheOthers) {
  const KeptAnswer answer{201, "/admin/v1/jobs/j1", {1, 2, 3}};
  EXPECT_EQ(open()->claim_key(key_of("k"), kNow)->state, KeyClaim::State::claimed);
  EXPECT_EQ(open()->claim_key(key_of("k"), kNow)->state, KeyClaim::State::under_way)
      << "also after a restart";
  EXPECT_EQ(open()->claim_key(key_of("k", "[]"), kNow)->state, KeyClaim::State::other_body);
  ASSERT_OK(open()->keep_answer(key_of("k"), answer));
  const auto again = open()->claim_key(key_of("k"), kNow + kIdempotencyKeptFor - Millis{1});
  ASSERT_OK(again);
  EXPECT_EQ(again->state, KeyClaim::State::answered);
  EXPECT_EQ(again->answer, answer);
  EXPECT_EQ(open()->claim_key(key_of("k", "[]"), kNow)->state, KeyClaim::State::other_body);
  EXPECT_EQ(open()->claim_key(key_of("other"), kNow)->state, KeyClaim::State::claimed);
  EXPECT_EQ(open()->claim_key(key_of("k"), kNow + kIdempotencyKeptFor)->state, KeyClaim::State::claimed)
      << "a day later";
}

TEST_F(SqliteAdminStoreTest, ReleasesAKeyOnlyWhileItIsUnderWay) {
  const auto store = open();
  ASSERT_OK(store->claim_key(key_of("k"), kNow));
  ASSERT_OK(store->release_key(key_of("k")));
  EXPECT_EQ(store->claim_key(key_of("k"), kNow)->state, KeyClaim::State::claimed);
  ASSERT_OK(store->keep_answer(key_of("k"), {201, "", {}}));
  ASSERT_OK(store->release_key(key_of("k")));
  EXPECT_EQ(store->claim_key(key_of("k"), kNow)->state, KeyClaim::State::answered);
}

TEST_F(SqliteAdminStoreTest, KeepsABoundedNumberOfKeys) {
  open();
  execute(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) INSERT INTO "
      "idempotency "
      "SELECT CAST(printf('%032d', i) AS BLOB), zeroblob(32), 201, '', x'', 2000000 FROM n");
  EXPECT_ERROR(open()->claim_key(key_of("k"), kNow), ErrorCode::rate_limited, "10000 idempotency keys");
  EXPECT_OK(open()->claim_key(key_of("k"), wall_time_from_unix_ms(2'000'000)));
}

TEST(IdempotencyKey, IsOfItsCallerOperationAndKey) {
  const auto name = [](std::string_view key, std::string_view caller, std::string_view operation) {
    return make_idempotency_key(key, caller, operation, {})->name;
  };
  EXPECT_EQ(name("k", "c", "o"), name("k", "c", "o"));
  EXPECT_NE(name("k", "c", "o"), name("k", "d", "o"));
  EXPECT_NE(name("k", "c", "o"), name("k", "c", "p"));
  EXPECT_NE(name("k", "co", ""), name("k", "c", "o"));
  EXPECT_OK(make_idempotency_key(std::string(kIdempotencyKeyCharsMax, '~'), "", "", {}));
  for (const std::string& wrong : {std::string(), std::string(kIdempotencyKeyCharsMax + 1, 'k'),
                                   std::string("a b"), std::string("\xc3\xa4")}) {
    EXPECT_ERROR(make_idempotency_key(wrong, "", "", {}), ErrorCode::invalid_argument, "Idempotency-Key");
  }
}

}  // namespace
}  // namespace coterie
