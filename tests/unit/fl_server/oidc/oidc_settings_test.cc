#include "fl_server/oidc/oidc_settings.h"

#include <gmock/gmock.h>

#include "fl_server/records/role.h"
#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> pointers(const OidcSettings& settings) {
  std::vector<std::string> pointers;
  for (const Problem& problem : validate(settings)) pointers.push_back(problem.pointer);
  return pointers;
}

TEST(OidcSettings, ThatAreComplete) { EXPECT_THAT(pointers(test::oidc_settings()), IsEmpty()); }

TEST(OidcSettings, ReportEveryProblem) {
  OidcSettings settings;
  settings.roles_claim = "";
  settings.leeway = kOidcLeewayMax + Millis(1);
  settings.lifetime_max = kOidcLifetimeMin - Millis(1);
  EXPECT_THAT(pointers(settings), ElementsAre("/issuer", "/jwks_url", "/audience", "/roles_claim", "/role_map",
                                              "/leeway_ms", "/lifetime_ms_max"));
}

TEST(OidcSettings, UrlsAreHttpsAndNameAHostAlone) {
  for (const char* url :
       {"http://issuer.example", "https://", "https:///path", "https://user@issuer.example/", "https://a b/",
        "HTTPS://issuer.example", "file:///etc/passwd", "https://issuer.example\\@evil/", "https://?x"}) {
    OidcSettings settings = test::oidc_settings();
    settings.issuer = url;
    settings.jwks_url = url;
    EXPECT_THAT(pointers(settings), ElementsAre("/issuer", "/jwks_url")) << url;
  }
}

TEST(OidcSettings, ClaimsArePaths) {
  for (const char* path : {".", "a.", ".a", "a..b"}) {
    OidcSettings settings = test::oidc_settings();
    settings.roles_claim = path;
    settings.tenant_claim = path;
    EXPECT_THAT(pointers(settings), ElementsAre("/roles_claim", "/tenant_claim")) << path;
  }
  OidcSettings settings = test::oidc_settings();
  settings.roles_claim = "https://example.com/a..b";
  EXPECT_THAT(pointers(settings), IsEmpty());
}

TEST(OidcSettings, RolesAreMappedToOurs) {
  OidcSettings settings = test::oidc_settings();
  for (const Role role : kRoles) settings.role_map["x-" + std::string(to_string(role))] = to_string(role);
  EXPECT_THAT(pointers(settings), IsEmpty());
  settings.role_map["admins"] = "root";
  settings.role_map[""] = "viewer";
  EXPECT_THAT(pointers(settings), ElementsAre("/role_map", "/role_map"));
}

TEST(OidcSettings, TextsAreLimited) {
  OidcSettings settings = test::oidc_settings();
  settings.audience = std::string(kOidcTextBytesMax + 1, 'a');
  settings.ca_file = std::string("a\0b", 3);
  EXPECT_THAT(pointers(settings), ElementsAre("/audience", "/ca_file"));
}

}  // namespace
}  // namespace coterie
