// Tokens of an identity provider on the admin plane, over real connections to both.
#include <gmock/gmock.h>

#include "tests/unit/fl_server/admin_api/admin_server.h"
#include "tests/unit/fl_server/oidc/jwks_server.h"
#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie {
namespace {

using test::Answer;

class AdminOidc : public test::AdminServerTest {
 protected:
  void configure(ServerConfig& config) override {
    config.oidc = test::oidc_settings();
    config.oidc->jwks_url = issuer_.url("/keys");
    config.oidc->ca_file = issuer_.ca_file();
  }
  // A token of now with these roles of ours, by a role_map that gives each its own name.
  std::string token(const test::MintKey& key, const nlohmann::json& roles) {
    nlohmann::json claims = test::good_claims();
    const int64_t now = unix_ms(os::wall_now()) / 1000;
    claims["iat"] = now - 5;
    claims["exp"] = now + 600;
    claims.erase("nbf");
    claims["roles"] = roles;
    return key.token(claims);
  }
  // Until the issuer's keys are there.
  Answer ask_when_ready(const std::string& bearer, std::string_view method, const std::string& target) {
    Answer answer;
    do answer = ask_as("Bearer " + bearer, method, target);
    while (answer.status == 503);
    return answer;
  }

  test::MintKey key_{KeyAlgorithm::ed25519, "one"};
  test::JwksServer issuer_{nlohmann::json{{"keys", {key_.jwk()}}}.dump()};
};

TEST_F(AdminOidc, TakesWhatTheIssuersRolesAllowAndNothingElse) {
  std::string role;
  for (const auto& [theirs, ours] : test::oidc_settings().role_map) {
    if (ours == "viewer") role = theirs;
  }
  ASSERT_FALSE(role.empty()) << "the test's settings must map somebody to viewer";
  const std::string viewer = token(key_, {role});
  EXPECT_EQ(ask_when_ready(viewer, "GET", "/admin/v1/jobs").status, 200);
  EXPECT_EQ(ask_as("Bearer " + viewer, "POST", "/admin/v1/jobs", "{}").status, 403);
  EXPECT_EQ(ask_as("Bearer " + token(key_, nlohmann::json::array()), "GET", "/admin/v1/jobs").status, 403);
  const test::MintKey stranger(KeyAlgorithm::ed25519, "one", 8);
  EXPECT_EQ(ask_as("Bearer " + token(stranger, {role}), "GET", "/admin/v1/jobs").status, 401);
  const Answer audit = ask("GET", "/admin/v1/audit?limit=100");
  ASSERT_EQ(audit.status, 200);
  EXPECT_THAT(audit.body, testing::HasSubstr("\"oidc:")) << "who was refused is there";
  EXPECT_THAT(audit.body, testing::Not(testing::HasSubstr(viewer)));
}

}  // namespace
}  // namespace coterie
