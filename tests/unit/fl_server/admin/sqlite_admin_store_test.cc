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
  execute("UPDATE component SET version = 3 WHERE name = 'admin'");
  EXPECT_ERROR(SqliteAdminStore::open(path()), ErrorCode::unsupported_version,
               "version 3, this server speaks 2");
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
  execute("DROP TABLE audit; UPDATE component SET version = 1 WHERE name = 'admin'");
  const auto store = open();
  EXPECT_OK(store->append_audit({.who = "a"}));
  EXPECT_OK(store->get_admin_token("aa"));
}

}  // namespace
}  // namespace coterie
