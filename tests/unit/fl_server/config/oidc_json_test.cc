#include "fl_server/config/oidc_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fl_server/config/server_config.h"
#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using test::pointers_of;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(OidcJson, IsNotThereUnlessSomebodySaysSo) {
  Problems problems;
  EXPECT_FALSE(server_config_from_json(R"({"admin": {"port": 1}})", problems).oidc.has_value());
  EXPECT_THAT(problems, IsEmpty());
}

TEST(OidcJson, TakesEveryKeyItDocuments) {
  Problems problems;
  const ServerConfig config = server_config_from_json(R"({"admin": {"port": 7, "oidc": {
    "issuer": "https://sso.example.org/realms/fl", "audience": "coterie", "jwks_url": "https://sso.example.org/certs",
    "ca_file": "ca.pem", "roles_claim": "realm_access.roles", "role_map": {"a": "viewer", "b": "security_admin"},
    "tenant_claim": "tid", "leeway_ms": 1, "lifetime_ms_max": 60000}}})",
                                                      problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(config.admin.port, 7);
  ASSERT_TRUE(config.oidc.has_value());
  EXPECT_EQ(config.oidc->issuer, "https://sso.example.org/realms/fl");
  EXPECT_EQ(config.oidc->audience, "coterie");
  EXPECT_EQ(config.oidc->jwks_url, "https://sso.example.org/certs");
  EXPECT_EQ(config.oidc->ca_file, "ca.pem");
  EXPECT_EQ(config.oidc->roles_claim, "realm_access.roles");
  EXPECT_THAT(config.oidc->role_map, ElementsAre(Pair("a", "viewer"), Pair("b", "security_admin")));
  EXPECT_EQ(config.oidc->tenant_claim, "tid");
  EXPECT_EQ(config.oidc->leeway, Millis(1));
  EXPECT_EQ(config.oidc->lifetime_max, Millis(60'000));
}

TEST(OidcJson, SaysHowPeopleSignIn) {
  const std::string around = R"({"admin": {"oidc": {"issuer": "https://a", "audience": "x", "jwks_url": "https://a/b",
    "role_map": {"a": "viewer"}, "sign_in": )";
  Problems problems;
  const ServerConfig config = server_config_from_json(around + R"({"name": "SSO", "authorization_url": "https://a/auth",
    "token_url": "https://a/token", "client_id": "console", "client_secret_file": "secret",
    "redirect_url": "https://fl.example.org/console/callback", "scope": "openid roles",
    "end_session_url": "https://a/logout"}}}})",
                                                      problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_TRUE(config.oidc->sign_in.has_value());
  EXPECT_EQ(config.oidc->sign_in->name, "SSO");
  EXPECT_EQ(config.oidc->sign_in->authorization_url, "https://a/auth");
  EXPECT_EQ(config.oidc->sign_in->token_url, "https://a/token");
  EXPECT_EQ(config.oidc->sign_in->client_id, "console");
  EXPECT_EQ(config.oidc->sign_in->client_secret_file, "secret");
  EXPECT_EQ(config.oidc->sign_in->redirect_url, "https://fl.example.org/console/callback");
  EXPECT_EQ(config.oidc->sign_in->scope, "openid roles");
  EXPECT_EQ(config.oidc->sign_in->end_session_url, "https://a/logout");
  server_config_from_json(around + R"({"name": "SSO", "client_secret": "hush"}}}})", problems);
  EXPECT_THAT(pointers_of(problems),
              UnorderedElementsAre("/admin/oidc/sign_in/authorization_url", "/admin/oidc/sign_in/token_url",
                                   "/admin/oidc/sign_in/client_id", "/admin/oidc/sign_in/redirect_url",
                                   "/admin/oidc/sign_in/client_secret"));
}

TEST(OidcJson, ReportsEveryProblemWhereItIs) {
  Problems problems;
  server_config_from_json(
      R"({"admin": {"oidc": {"issuer": "http://sso", "audience": "x", "jwks_uri": "https://sso/certs",
    "role_map": {"a": "root"}, "leeway_ms": 300001}}})",
      problems);
  EXPECT_THAT(pointers_of(problems),
              UnorderedElementsAre("/admin/oidc/issuer", "/admin/oidc/jwks_url", "/admin/oidc/jwks_uri",
                                   "/admin/oidc/role_map", "/admin/oidc/leeway_ms"));
}

TEST(OidcJson, IsAnObjectAndSoIsTheRoleMap) {
  for (const char* map : {"[]", "1", "{\"a\": 1}", "null"}) {
    Problems problems;
    server_config_from_json(
        R"({"admin": {"oidc": {"issuer": "https://a", "audience": "x", "jwks_url": "https://a/b",
      "role_map": )" +
            std::string(map) + "}}}",
        problems);
    EXPECT_THAT(pointers_of(problems), ElementsAre("/admin/oidc/role_map", "/admin/oidc/role_map")) << map;
  }
  Problems problems;
  server_config_from_json(R"({"admin": {"oidc": null}, "device": {"oidc": {}}})", problems);
  EXPECT_THAT(pointers_of(problems), testing::IsSupersetOf({"/admin/oidc", "/device/oidc"}));
}

}  // namespace
}  // namespace coterie
