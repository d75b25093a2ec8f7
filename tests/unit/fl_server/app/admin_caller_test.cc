#include "fl_server/app/admin_caller.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

OidcIdentity somebody(std::vector<std::string> roles, std::string tenant = {}) {
  return {.subject = "anna",
          .issuer = "https://id.example",
          .roles = std::move(roles),
          .tenant = std::move(tenant),
          .expires = {}};
}

TEST(AdminCaller, IsNamedAfterTheSubjectAndSeesEveryTenantWhereTokensNameNone) {
  const Result<AdminCaller> caller = caller_of(somebody({"viewer", "operator"}), false);
  ASSERT_OK(caller);
  EXPECT_EQ(
      *caller,
      (AdminCaller{.id = "oidc:anna", .roles = {Role::viewer, Role::operator_}, .tenant = std::string(kEveryTenant)}));
}

TEST(AdminCaller, SeesTheTenantOfItsTokenAlone) {
  const Result<AdminCaller> caller = caller_of(somebody({"viewer"}, "acme"), true);
  ASSERT_OK(caller);
  EXPECT_EQ(caller->tenant, "acme");
}

TEST(AdminCaller, GetsNoRoleFromANameThatIsNone) {
  const Result<AdminCaller> caller = caller_of(somebody({"root"}), false);
  ASSERT_OK(caller);
  EXPECT_EQ(caller->roles, RoleSet());
}

// What would otherwise be a caller of every tenant, or of one that nobody can make.
TEST(AdminCaller, IsRefusedWithATenantThatIsNoTenantsName) {
  for (const std::string& tenant : {std::string(), std::string(kEveryTenant), std::string("Acme Ltd.")}) {
    EXPECT_ERROR(caller_of(somebody({"viewer"}, tenant), true), ErrorCode::permission_denied, "tenant") << tenant;
  }
}

}  // namespace
}  // namespace coterie
