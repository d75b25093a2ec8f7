#include <gmock/gmock.h>

#include "tests/support/matchers.h"
#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::reason_of;
using test::set_of;

class JwsVectors : public testing::TestWithParam<const char*> {};

TEST_P(JwsVectors, VerifyAndNothingElseDoes) {
  const json vector = test::vectors("rfc.json")[GetParam()];
  const JwkSet keys = set_of({vector["jwk"]});
  ASSERT_EQ(keys.keys.size(), 1u);
  const std::string token = vector["token"];
  const Result<Bytes> payload = verify_jws(token, keys);
  ASSERT_OK(payload);
  EXPECT_EQ(as_text(*payload), vector["payload"].get<std::string>());

  // Any one character changed is another token, wherever it stands.
  for (size_t i = 0; i < token.size(); ++i) {
    std::string altered = token;
    altered[i] = altered[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(reason_of(verify_jws(altered, keys)), "accepted") << "character " << i;
  }
  for (size_t size = 0; size < token.size(); ++size) {
    EXPECT_NE(reason_of(verify_jws(token.substr(0, size), keys)), "accepted") << "cut to " << size;
  }
}
INSTANTIATE_TEST_SUITE_P(Rfc, JwsVectors,
                         testing::Values("rfc7515_a2_rs256", "rfc7515_a3_es256", "rfc8037_a4_ed25519"));

TEST(JwsVectors, Rfc7517KeysAreReadAndTheOneForEncryptionIsNot) {
  const JwkSet set = *parse_jwk_set(test::vectors("rfc.json")["rfc7517_a1_jwks"].dump());
  ASSERT_EQ(set.keys.size(), 1u);
  EXPECT_EQ(set.keys[0].kid, "2011-04-29");
  EXPECT_EQ(set.keys[0].algorithm(), JwsAlgorithm::rs256);
  EXPECT_EQ(set.skipped_foreign, 1u);
  EXPECT_EQ(set.skipped_malformed, 0u);
}

TEST(RsaTokens, OfTwoToFourThousandBitsAreAccepted) {
  const json vectors = test::vectors("rsa.json");
  for (const char* name : {"rsa2048", "rsa4096"}) {
    const Result<OidcIdentity> who = verify_jwt(vectors[name]["token"].get<std::string>(),
                                                set_of({vectors[name]["jwk"]}), test::oidc_settings(), test::kTestNow);
    ASSERT_OK(who) << name;
    EXPECT_EQ(who->subject, "alice");
    EXPECT_THAT(who->roles, testing::ElementsAre("operator"));
  }
}

TEST(RsaTokens, PssSignaturesAreNotRs256) {
  const json vector = test::vectors("rsa.json")["rsa2048"];
  EXPECT_EQ(reason_of(verify_jws(vector["pss_signature_as_rs256"].get<std::string>(), set_of({vector["jwk"]}))),
            token_fault::kSignature);
}

// The attack on libraries that let the token choose: an HMAC whose secret is what everybody knows of an RSA
// key.
TEST(RsaTokens, HmacWithThePublicKeyAsSecretIsRefused) {
  const json vector = test::vectors("rsa.json")["rsa2048"];
  const JwkSet keys = set_of({vector["jwk"]});
  for (const std::string form : {"pem", "der", "modulus"}) {
    EXPECT_EQ(reason_of(verify_jws(vector["hs256_by_" + form].get<std::string>(), keys)), token_fault::kAlgorithm)
        << form;
    EXPECT_EQ(reason_of(verify_jws(vector["mac_by_" + form + "_as_rs256"].get<std::string>(), keys)),
              token_fault::kSignature)
        << form;
  }
}

// Not only is such a key not taken from a JWK set: it verifies nothing by itself either.
TEST(RsaTokens, WeakKeysVerifyNothing) {
  const json vectors = test::vectors("rsa.json");
  for (const char* name : {"rsa1024", "rsa2048_exponent3"}) {
    const json& jwk = vectors[name]["jwk"];
    const JwkSet parsed = set_of({jwk});
    EXPECT_EQ(parsed.keys.size(), 0u) << name;
    EXPECT_EQ(parsed.skipped_malformed, 1u) << name;
    JwkSet forced;
    forced.keys.push_back({.kid = "rsa",
                           .key = RsaPublicKey{.modulus = *from_base64url(jwk["n"].get<std::string>()),
                                               .exponent = *from_base64url(jwk["e"].get<std::string>())}});
    EXPECT_EQ(reason_of(verify_jws(vectors[name]["token"].get<std::string>(), forced)), token_fault::kSignature)
        << name;
  }
}

}  // namespace
}  // namespace coterie
