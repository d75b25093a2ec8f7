// Who may ask models: nobody, but for the data directory's token and holders of the role `application`.
#include "fl_server/app/model_gate.h"

#include <gtest/gtest.h>

#include <future>

#include "base/os/clock.h"
#include "secure/crypto/slow_hash.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/admin/memory_admin_store.h"

namespace coterie {
namespace {

constexpr const char* kOwnToken = "cot_of-the-data-directory";

class ModelGateTest : public testing::Test {
 protected:
  std::string token_of(RoleSet roles, const std::string& tenant, Millis valid = Millis(3'600'000)) {
    const NewAdminToken made = generate_admin_token();
    const AdminTokenRecord record{.id = made.id,
                                  .label = "of the test",
                                  .roles = roles,
                                  .hash = slow_hash(made.text),
                                  .creator = "test",
                                  .created = os::wall_now(),
                                  .expires = os::wall_now() + valid,
                                  .tenant = tenant};
    EXPECT_OK(store_.create_admin_token(record));
    return made.text;
  }
  ModelAccess::Answer ask(const std::string& token) {
    if (std::optional<ModelAccess::Answer> known = gate_.recall(token)) return *known;
    std::promise<ModelAccess::Answer> answered;
    gate_.verify(token, {}, [&](ModelAccess::Answer answer) { answered.set_value(std::move(answer)); });
    return answered.get_future().get();
  }

  test::MemoryAdminStore store_;
  ModelGate gate_{store_, kOwnToken, [](std::string_view token, WallTime) -> Result<AdminCaller> {
                    if (token == "a.viewers.jwt") return AdminCaller{"oidc:eve", {Role::viewer}, "acme"};
                    if (token == "a.good.jwt") return AdminCaller{"oidc:app", {Role::application}, "acme"};
                    return Error(ErrorCode::unauthenticated, "not of the provider");
                  }};
};

TEST_F(ModelGateTest, TheDataDirectorysTokenAsksModelsOfEveryTenant) {
  ASSERT_TRUE(gate_.recall(kOwnToken).has_value()) << "without a look into the store";
  EXPECT_EQ(*ask(kOwnToken), kEveryTenant);
}

TEST_F(ModelGateTest, AnApplicationAsksThoseOfItsTenant) {
  const std::string token = token_of({Role::application}, "acme");
  EXPECT_FALSE(gate_.recall(token).has_value()) << "it has not been seen yet";
  const ModelAccess::Answer answer = ask(token);
  ASSERT_OK(answer);
  EXPECT_EQ(*answer, "acme");
  const uint64_t reads = store_.reads;
  ASSERT_OK(ask(token));
  EXPECT_EQ(store_.reads, reads) << "from now on it is remembered";
}

TEST_F(ModelGateTest, EverybodyElseAsksNone) {
  for (const Role role : kRoles) {
    if (role == Role::application) continue;
    EXPECT_ERROR(ask(token_of({role}, std::string(kEveryTenant))), ErrorCode::permission_denied,
                 "this token has " + std::string(to_string(role)));
  }
  EXPECT_ERROR(ask(token_of({Role::application}, "acme", Millis(0))), ErrorCode::unauthenticated, "expired");
  for (const char* const none : {"", "x", "cota_0123456789abcdef_AAAA", "a.b", "cot_of-the-data-directory "})
    EXPECT_ERROR(ask(none), ErrorCode::unauthenticated, "") << none;
}

TEST_F(ModelGateTest, AProvidersTokenCountsByItsRolesAndTenant) {
  EXPECT_EQ(*ask("a.good.jwt"), "acme");
  EXPECT_ERROR(ask("a.bad.jwt"), ErrorCode::unauthenticated, "not of the provider");
}

TEST_F(ModelGateTest, WhoIsRememberedWithoutTheRoleIsRefusedAtOnce) {
  const std::string token = token_of({Role::viewer}, "acme");
  EXPECT_FALSE(gate_.recall(token));
  EXPECT_ERROR(ask(token), ErrorCode::permission_denied, "viewer");
  const auto known = gate_.recall(token);
  ASSERT_TRUE(known);
  EXPECT_ERROR(*known, ErrorCode::permission_denied, "viewer");
}

TEST_F(ModelGateTest, AProvidersTokenWithoutTheRoleAsksNone) {
  EXPECT_ERROR(ask("a.viewers.jwt"), ErrorCode::permission_denied, "viewer");
}

TEST_F(ModelGateTest, WhenItStopsEverybodyIsStillAnswered) {
  const std::string token = token_of({Role::application}, "acme");
  gate_.stop();
  EXPECT_ERROR(ask(token), ErrorCode::unavailable, "stops");
  EXPECT_OK(ask(kOwnToken)) << "needs no store";
}

TEST_F(ModelGateTest, RandomIdsAreLookedUpAsOftenAsAnAddressMay) {
  const int before = store_.reads;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(ask(generate_admin_token().text));
  EXPECT_LT(store_.reads - before, 100);
}

TEST_F(ModelGateTest, AStoreThatDoesNotAnswerLetsNobodyIn) {
  const std::string token = token_of({Role::application}, "acme");
  store_.failure = Error(ErrorCode::unavailable, "the database is away");
  EXPECT_ERROR(ask(token), ErrorCode::unavailable, "the database is away");
}

}  // namespace
}  // namespace coterie
