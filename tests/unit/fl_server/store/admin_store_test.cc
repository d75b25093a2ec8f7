// The conformance suite of AdminStore.
#include "fl_server/store/admin_store.h"

#include <gtest/gtest.h>

#include "fl_server/store/sql_admin_store.h"
#include "tests/unit/fl_server/store/store_backends.h"

namespace coterie {
namespace {

using namespace test;

AdminTokenRecord token(const std::string& id, int64_t created) {
  return {id,
          "of " + id,
          {Role::viewer, Role::operator_},
          "$argon2id$",
          "admin-token",
          wall_time_from_unix_ms(created),
          wall_time_from_unix_ms(created + 5)};
}

template <typename Backend>
class AdminStoreConformance : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  AdminStore& store() { return backend_.store(); }
  Backend backend_;
};
using Backends = testing::Types<SqlBackend<SqlAdminStore, SqliteDatabase>, SqlBackend<SqlAdminStore, PostgresDatabase>>;
TYPED_TEST_SUITE(AdminStoreConformance, Backends, BackendNames);

TYPED_TEST(AdminStoreConformance, KeepsTokensAsTheyAreOldestFirst) {
  ASSERT_OK(this->store().create_admin_token(token("bb", 20)));
  ASSERT_OK(this->store().create_admin_token(token("cc", 10)));
  ASSERT_OK(this->store().create_admin_token(token("aa", 20)));
  EXPECT_ERROR(this->store().create_admin_token(token("aa", 30)), ErrorCode::conflict, "");
  this->backend_.reopen();
  const auto list = this->store().list_admin_tokens();
  ASSERT_OK(list);
  ASSERT_EQ(list->size(), 3u);
  EXPECT_EQ((*list)[0].id + (*list)[1].id + (*list)[2].id, "ccaabb");
  const auto one = this->store().get_admin_token("bb");
  ASSERT_OK(one);
  EXPECT_EQ(one->label, "of bb");
  EXPECT_EQ(one->roles, (RoleSet{Role::viewer, Role::operator_}));
  EXPECT_EQ(one->hash, "$argon2id$");
  EXPECT_EQ(one->creator, "admin-token");
  EXPECT_EQ(one->created, wall_time_from_unix_ms(20));
  EXPECT_EQ(one->expires, wall_time_from_unix_ms(25));
}

TYPED_TEST(AdminStoreConformance, RemovesATokenOnce) {
  ASSERT_OK(this->store().create_admin_token(token("aa", 1)));
  ASSERT_OK(this->store().remove_admin_token("aa"));
  EXPECT_ERROR(this->store().remove_admin_token("aa"), ErrorCode::not_found, "admin token");
  EXPECT_ERROR(this->store().get_admin_token("aa"), ErrorCode::not_found, "admin token");
}

}  // namespace
}  // namespace coterie
