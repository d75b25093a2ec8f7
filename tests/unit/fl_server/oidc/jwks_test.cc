#include "fl_server/oidc/jwks.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"
#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::MintKey;
using test::set_of;

const MintKey& ed25519() {
  static const MintKey key(KeyAlgorithm::ed25519, "ed");
  return key;
}
const MintKey& p256() {
  static const MintKey key(KeyAlgorithm::p256, "ec");
  return key;
}
json rsa() { return test::vectors("rsa.json")["rsa2048"]["jwk"]; }

json with(json jwk, const char* name, const json& value) {
  jwk[name] = value;
  return jwk;
}

void expect_one(const json& jwk, size_t ours, size_t foreign, size_t malformed) {
  const JwkSet set = set_of({jwk});
  EXPECT_EQ(set.keys.size(), ours) << jwk.dump();
  EXPECT_EQ(set.skipped_foreign, foreign) << jwk.dump();
  EXPECT_EQ(set.skipped_malformed, malformed) << jwk.dump();
}
void expect_ours(const json& jwk) { expect_one(jwk, 1, 0, 0); }
void expect_foreign(const json& jwk) { expect_one(jwk, 0, 1, 0); }
void expect_malformed(const json& jwk) { expect_one(jwk, 0, 0, 1); }

TEST(JwkSet, HasTheKeysWeCanUse) {
  const JwkSet set = set_of({rsa(), p256().jwk(), ed25519().jwk()});
  ASSERT_EQ(set.keys.size(), 3u);
  EXPECT_EQ(set.keys[0].algorithm(), JwsAlgorithm::rs256);
  EXPECT_EQ(set.keys[1].algorithm(), JwsAlgorithm::es256);
  EXPECT_EQ(set.keys[2].algorithm(), JwsAlgorithm::eddsa);
  EXPECT_EQ(set.keys[2].kid, "ed");
}

TEST(JwkSet, SkipsKeysForSomethingElse) {
  for (const json& good : {rsa(), p256().jwk(), ed25519().jwk()}) {
    expect_ours(good);
    expect_foreign(with(good, "use", "enc"));
    expect_foreign(with(good, "kty", "oct"));
    expect_foreign(with(good, "kty", "rsa"));
    expect_foreign(with(good, "alg", "HS256"));
    expect_foreign(with(good, "key_ops", {"encrypt"}));
    expect_ours(with(good, "key_ops", {"verify"}));
    expect_ours(with(good, "x5c", {"not read"}));
  }
  expect_foreign(with(rsa(), "alg", "PS256"));
  expect_foreign(with(p256().jwk(), "crv", "P-384"));
  expect_foreign(with(ed25519().jwk(), "crv", "X25519"));
  expect_foreign({{"kty", "oct"}, {"k", "c2VjcmV0"}, {"kid", "one"}});
}

TEST(JwkSet, SkipsAndCountsMalformedKeys) {
  for (const json& jwk : {json(), json("key"), json::array(), json::object(), json{{"kty", 1}}, json{{"kty", "RSA"}},
                          json{{"kty", "EC"}}, json{{"kty", "OKP"}, {"crv", "Ed25519"}}}) {
    expect_malformed(jwk);
  }
  for (const json& good : {rsa(), p256().jwk(), ed25519().jwk()}) {
    expect_malformed(with(good, "kid", 1));
    expect_malformed(with(good, "kid", std::string(kKeyIdBytesMax + 1, 'k')));
    expect_malformed(with(good, "use", 1));
    expect_malformed(with(good, "key_ops", "verify"));
  }
}

TEST(JwkSet, RefusesKeysWhosePrivateHalfIsPublic) {
  for (const json& good : {rsa(), p256().jwk(), ed25519().jwk()}) expect_malformed(with(good, "d", "AQAB"));
}

TEST(JwkSet, RefusesWeakOrOddRsaKeys) {
  for (const char* exponent :
       {"AQ", "Aw", "AQAA", "AAEAAQ", "", "AQAB=", "AQAAAAE"}) {  // 1, 3, even, leading zero, 2^32 + 1
    expect_malformed(with(rsa(), "e", exponent));
  }
  Bytes modulus = *from_base64url(rsa()["n"].get<std::string>());
  Bytes shorter(modulus.begin() + 1, modulus.end());
  shorter[0] |= 1;
  expect_malformed(with(rsa(), "n", to_base64url(shorter)));
  Bytes one_bit_short = modulus;
  one_bit_short[0] = 0x7f;
  expect_malformed(with(rsa(), "n", to_base64url(one_bit_short)));
  Bytes padded = modulus;
  padded.insert(padded.begin(), 0);
  expect_malformed(with(rsa(), "n", to_base64url(padded)));
  Bytes even = modulus;
  even.back() &= 0xfe;
  expect_malformed(with(rsa(), "n", to_base64url(even)));
  Bytes longer(kRsaModulusBitsMax / 8 + 1, 0xff);
  expect_malformed(with(rsa(), "n", to_base64url(longer)));
}

TEST(JwkSet, RefusesPointsThatAreNotOnTheCurve) {
  const json good = p256().jwk();
  Bytes y = *from_base64url(good["y"].get<std::string>());
  y.back() ^= 1;
  expect_malformed(with(good, "y", to_base64url(y)));
  expect_malformed(with(good, "x", to_base64url(Bytes(32, 0xff))));
  expect_malformed(with(good, "x", to_base64url(Bytes(31, 1))));
  expect_malformed(with(good, "x", to_base64url(Bytes(33, 1))));
  expect_malformed(with(ed25519().jwk(), "x", to_base64url(Bytes(31, 1))));
  expect_malformed(with(ed25519().jwk(), "x", to_base64url(Bytes(32, 0xff))));
}

TEST(JwkSet, HasAKeyIdOnceForEachKind) {
  const MintKey other(KeyAlgorithm::ed25519, "ed", 9);
  const JwkSet set = set_of({ed25519().jwk(), other.jwk(), with(p256().jwk(), "kid", "ed")});
  ASSERT_EQ(set.keys.size(), 2u);
  EXPECT_EQ(set.skipped_malformed, 1u);
  EXPECT_EQ(std::get<Ed25519PublicKey>(set.keys[0].key).bytes,
            *from_base64url(ed25519().jwk()["x"].get<std::string>()));
}

TEST(JwkSet, OfTextThatIsNoneIsAnError) {
  for (const char* text : {"", "null", "[]", "{}", "{\"keys\":{}}", "{\"keys\":1}", "{\"keys\":[]",
                           "{\"keys\":[],\"keys\":[]}", "<html>", "{\"keys\":[\"\xff\"]}"}) {
    EXPECT_ERROR(parse_jwk_set(text), ErrorCode::malformed, "not a JWK set");
  }
  EXPECT_OK(parse_jwk_set("{\"keys\":[]}"));
}

TEST(JwkSet, IsLimited) {
  EXPECT_ERROR(parse_jwk_set(std::string(kJwkSetBytesMax + 1, ' ')), ErrorCode::too_large, "bytes");
  const std::vector<json> many(kJwkSetKeysMax + 1, json::object());
  EXPECT_ERROR(parse_jwk_set(json{{"keys", many}}.dump()), ErrorCode::too_large, "65 keys, at most 64");
  EXPECT_ERROR(parse_jwk_set("{\"keys\":[" + std::string(20'000, '[')), ErrorCode::malformed, "not a JWK set");
}

}  // namespace
}  // namespace coterie
