#include <gmock/gmock.h>

#include "tests/support/matchers.h"
#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::good_claims;
using test::kIssued;
using test::oidc_settings;
using test::reason_of;
using testing::ElementsAre;
using testing::IsEmpty;

Result<OidcIdentity> check(const json& claims, const OidcSettings& settings = oidc_settings(),
                           WallTime now = test::kTestNow) {
  return check_claims(as_bytes(claims.dump()), settings, now);
}
std::string reason_with(const char* name, const json& value) {
  json claims = good_claims();
  claims[name] = value;
  return reason_of(check(claims));
}
std::string reason_without(const char* name) {
  json claims = good_claims();
  claims.erase(name);
  return reason_of(check(claims));
}
std::string reason_at(int64_t unix_ms) {
  return reason_of(check(good_claims(), oidc_settings(), wall_time_from_unix_ms(unix_ms)));
}

TEST(JwtClaims, SayWhoItIs) {
  const Result<OidcIdentity> who = check(good_claims());
  ASSERT_OK(who);
  EXPECT_EQ(*who, (OidcIdentity{.subject = "alice",
                                .issuer = "https://issuer.example/realms/fl",
                                .roles = {"operator"},
                                .tenant = "",
                                .expires = wall_time_from_unix_ms((kIssued + 600) * 1000)}));
}

// leeway is 30 s, `exp` is 600 s after `iat`.
TEST(JwtClaims, ExpireToTheMillisecond) {
  EXPECT_EQ(reason_at((kIssued + 630) * 1000 - 1), "accepted");
  EXPECT_EQ(reason_at((kIssued + 630) * 1000), token_fault::kExpired);
  EXPECT_EQ(reason_at((kIssued + 1'000'000) * 1000), token_fault::kExpired);
}

TEST(JwtClaims, AreNotValidBeforeTheyWereIssuedOrSaySo) {
  EXPECT_EQ(reason_at((kIssued - 30) * 1000), "accepted");
  EXPECT_EQ(reason_at((kIssued - 30) * 1000 - 1), token_fault::kNotYetValid);
  EXPECT_EQ(reason_with("nbf", kIssued + 90), "accepted");
  EXPECT_EQ(reason_with("nbf", kIssued + 90.002), token_fault::kNotYetValid);
  EXPECT_EQ(reason_with("nbf", 0), "accepted");
}

TEST(JwtClaims, LiveNoLongerThanIsAllowed) {
  EXPECT_EQ(reason_with("exp", kIssued + 3600), "accepted");
  EXPECT_EQ(reason_with("exp", kIssued + 3601), token_fault::kLifetime);
  EXPECT_EQ(reason_with("exp", 253'402'300'799), token_fault::kLifetime);
}

TEST(JwtClaims, TimesAreNumbersInRange) {
  for (const char* name : {"exp", "iat", "nbf"}) {
    for (const json& value :
         {json(std::to_string(kIssued + 600)), json(-1), json(-0.5), json(), json(true), json::array({kIssued}),
          json::object(), json(253'402'300'800), json(18'446'744'073'709'551'615u), json(1e300)}) {
      EXPECT_EQ(reason_with(name, value), token_fault::kClaims) << name << " " << value.dump();
    }
  }
  EXPECT_EQ(reason_without("exp"), token_fault::kClaims);
  EXPECT_EQ(reason_without("iat"), token_fault::kClaims);
}

// More digits than any number of ours has.
TEST(JwtClaims, HugeNumbersAreRefused) {
  for (const std::string number : {"99999999999999999999999", "1e400", "-1e400", "1e99999999999", "NaN", "Infinity"}) {
    const std::string text = "{\"exp\":" + number + "," + [] {
      json claims = good_claims();
      claims.erase("exp");
      return claims.dump().substr(1);
    }();
    const std::string reason = reason_of(check_claims(as_bytes(text), oidc_settings(), test::kTestNow));
    EXPECT_TRUE(reason == token_fault::kClaims || reason == token_fault::kMalformed) << number << ": " << reason;
  }
}

TEST(JwtClaims, TheIssuerIsTheOneSet) {
  for (const char* issuer :
       {"https://issuer.example/realms/FL", "https://issuer.example/realms/fl/", "https://evil.example", ""}) {
    EXPECT_EQ(reason_with("iss", issuer), token_fault::kIssuer) << issuer;
  }
  EXPECT_EQ(reason_with("iss", json::array({"https://issuer.example/realms/fl"})), token_fault::kClaims);
  EXPECT_EQ(reason_without("iss"), token_fault::kClaims);
}

TEST(JwtClaims, TheAudienceHasUs) {
  EXPECT_EQ(reason_with("aud", "coterie"), "accepted");
  EXPECT_EQ(reason_with("aud", json::array({"account", "coterie"})), "accepted");
  EXPECT_EQ(reason_with("aud", json::array({"account"})), token_fault::kAudience);
  EXPECT_EQ(reason_with("aud", json::array()), token_fault::kAudience);
  EXPECT_EQ(reason_with("aud", "coterie-other"), token_fault::kAudience);
  EXPECT_EQ(reason_with("aud", "COTERIE"), token_fault::kAudience);
  EXPECT_EQ(reason_with("aud", json::array({"coterie", 1})), token_fault::kClaims);
  EXPECT_EQ(reason_with("aud", json{{"coterie", true}}), token_fault::kClaims);
  EXPECT_EQ(reason_with("aud", json(std::vector<std::string>(kTokenAudiencesMax + 1, "coterie"))),
            token_fault::kClaims);
  EXPECT_EQ(reason_without("aud"), token_fault::kClaims);
}

TEST(JwtClaims, TheSubjectIsAName) {
  EXPECT_EQ(reason_with("sub", std::string(kSubjectBytesMax, 's')), "accepted");
  for (const json& value :
       {json(""), json(std::string(kSubjectBytesMax + 1, 's')), json(7), json("a\nb"), json(std::string("a\0b", 3))}) {
    EXPECT_EQ(reason_with("sub", value), token_fault::kClaims) << value.dump();
  }
  EXPECT_EQ(reason_without("sub"), token_fault::kClaims);
}

TEST(JwtClaims, RolesAreOnlyThoseThatAreMapped) {
  json claims = good_claims();
  claims["roles"] = {"fl-readers", "security_admin", "operator", "fl-operators", "fl-readers"};
  EXPECT_THAT(check(claims)->roles, ElementsAre("operator", "viewer"));
  claims["roles"] = "openid fl-readers  email";
  EXPECT_THAT(check(claims)->roles, ElementsAre("viewer"));
  claims["roles"] = json::array();
  EXPECT_THAT(check(claims)->roles, IsEmpty());
  claims.erase("roles");
  EXPECT_THAT(check(claims)->roles, IsEmpty());
}

TEST(JwtClaims, RolesOfTheWrongFormAreRefused) {
  for (const json& value : {json(1), json(true), json::object(), json::array({"fl-readers", 1}), json(),
                            json(std::vector<std::string>(kTokenRolesMax + 1, "r"))}) {
    EXPECT_EQ(reason_with("roles", value), token_fault::kClaims) << value.dump();
  }
}

TEST(JwtClaims, RolesMayLieInsideOtherClaims) {
  OidcSettings settings = oidc_settings();
  settings.roles_claim = "realm_access.roles";
  json claims = good_claims();
  EXPECT_THAT(check(claims, settings)->roles, IsEmpty()) << "`roles` at the top is another claim";
  claims["realm_access.roles"] = {"fl-operators"};
  EXPECT_THAT(check(claims, settings)->roles, IsEmpty()) << "a claim whose name has the dot in it is another, too";
  claims["realm_access"] = {{"roles", {"fl-readers"}}};
  EXPECT_THAT(check(claims, settings)->roles, ElementsAre("viewer"));
  claims["realm_access"] = "roles";
  EXPECT_THAT(check(claims, settings)->roles, IsEmpty());
  settings.roles_claim = "https://example.com/fl.roles";
  claims["https://example.com/fl.roles"] = {"fl-operators"};
  EXPECT_THAT(check(claims, settings)->roles, ElementsAre("operator"));
}

TEST(JwtClaims, ATenantThatIsAskedForMustBeThere) {
  OidcSettings settings = oidc_settings();
  settings.tenant_claim = "org.id";
  json claims = good_claims();
  EXPECT_EQ(reason_of(check(claims, settings)), token_fault::kClaims);
  for (const json& value : {json(""), json(1), json(std::string(kTenantBytesMax + 1, 't')), json("a\tb")}) {
    claims["org"] = {{"id", value}};
    EXPECT_EQ(reason_of(check(claims, settings)), token_fault::kClaims) << value.dump();
  }
  claims["org"] = {{"id", "hospital-3"}};
  ASSERT_OK(check(claims, settings));
  EXPECT_EQ(check(claims, settings)->tenant, "hospital-3");
  EXPECT_EQ(check(claims)->tenant, "") << "not asked for";
}

}  // namespace
}  // namespace coterie
