// ID tokens: what they need beyond what every token does (jwt_claims_test.cc, jwt_attack_test.cc).
#include "fl_server/oidc/id_token.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"
#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie {
namespace {

using nlohmann::json;

class IdToken : public testing::Test {
 protected:
  json claims() const {
    json claims = test::good_claims();
    claims["aud"] = "console";
    claims["nonce"] = "n-1";
    return claims;
  }
  json claims_with(const char* name, const json& value) const {
    json all = claims();
    all[name] = value;
    return all;
  }
  std::string verify(const json& claims) const {
    return test::reason_of(verify_id_token(key_.token(claims), keys_, test::oidc_settings(), wanted_, test::kTestNow));
  }

  const test::MintKey key_{KeyAlgorithm::p256, "one"};
  const JwkSet keys_ = test::set_of({key_.jwk()});
  const IdTokenWanted wanted_{.client_id = "console", .nonce = "n-1"};
};

TEST_F(IdToken, SaysWhoSignedIn) {
  const auto identity = verify_id_token(key_.token(claims()), keys_, test::oidc_settings(), wanted_, test::kTestNow);
  ASSERT_OK(identity);
  EXPECT_EQ(identity->subject, "alice");
  EXPECT_EQ(identity->roles, std::vector<std::string>{"operator"});
}

TEST_F(IdToken, OfAnotherSignInIsRefused) {
  json without = claims();
  without.erase("nonce");
  EXPECT_EQ(verify(without), token_fault::kNonce);
  for (const json& nonce : {json("n-2"), json("n-1 "), json("N-1"), json(""), json(1), json(), json::array({"n-1"})}) {
    EXPECT_EQ(verify(claims_with("nonce", nonce)), token_fault::kNonce) << nonce;
  }
}

// The audience of bearer tokens is not the client: an access token signs nobody in.
TEST_F(IdToken, ForAnybodyElseIsRefused) {
  EXPECT_EQ(verify(claims_with("aud", "coterie")), token_fault::kAudience);
  EXPECT_EQ(verify(claims_with("iss", "https://issuer.example/realms/other")), token_fault::kIssuer);
  EXPECT_EQ(verify(claims_with("azp", "another-client")), token_fault::kParty);
  EXPECT_EQ(verify(claims_with("azp", 1)), token_fault::kParty);
  EXPECT_EQ(verify(claims_with("aud", {"console", "another-client"})), token_fault::kParty);
  json several = claims_with("aud", {"console", "another-client"});
  several["azp"] = "console";
  EXPECT_EQ(verify(several), "accepted");
  EXPECT_EQ(verify(claims_with("aud", json::array({"console"}))), "accepted");
}

TEST_F(IdToken, NeedsASignatureOfTheIssuer) {
  const test::MintKey stranger(KeyAlgorithm::p256, "one", 8);
  EXPECT_EQ(
      test::reason_of(verify_id_token(stranger.token(claims()), keys_, test::oidc_settings(), wanted_, test::kTestNow)),
      token_fault::kSignature);
  EXPECT_EQ(test::reason_of(verify_id_token(key_.token(claims()), keys_, test::oidc_settings(), wanted_,
                                            test::kTestNow + Millis(3'600'000))),
            token_fault::kExpired);
}

}  // namespace
}  // namespace coterie
