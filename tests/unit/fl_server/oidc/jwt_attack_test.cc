// Each attack on a verifier of tokens that we know of, by name. A forger has everything but a private key;
// some of these were signed by the issuer, in another sense than we would like.
#include <gmock/gmock.h>

#include "fl_server/oidc/strict_json.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::good_claims;
using test::MintKey;
using test::reason_of;
using test::set_of;

class JwtAttack : public testing::TestWithParam<KeyAlgorithm> {
 protected:
  std::string verify(const std::string& token) const { return verify_with(token, keys_); }
  std::string verify_with(const std::string& token, const JwkSet& keys) const {
    const auto result = verify_jwt(token, keys, test::oidc_settings(), test::kTestNow);
    if (!result && token.size() > 16) {  // what a token says is repeated by no message
      EXPECT_EQ(result.error().message().find(token.substr(0, 16)), std::string::npos);
      EXPECT_EQ(result.error().message().find("alice"), std::string::npos);
    }
    return reason_of(result);
  }
  std::string with_header(const json& header) const {
    return verify(key_.token_of(header.dump(), good_claims().dump()));
  }
  json header_with(const char* name, const json& value) const {
    json header = key_.header();
    header[name] = value;
    return header;
  }

  MintKey key_{GetParam(), "one"};
  JwkSet keys_ = set_of({key_.jwk()});
  std::string good_ = key_.token(good_claims());
};
INSTANTIATE_TEST_SUITE_P(Algorithms, JwtAttack, testing::Values(KeyAlgorithm::ed25519, KeyAlgorithm::p256));

TEST_P(JwtAttack, AGoodTokenIsAccepted) { EXPECT_EQ(verify(good_), "accepted"); }

TEST_P(JwtAttack, AlgorithmNoneInAnyCase) {
  for (const char* name : {"none", "nOnE", "NONE", ""}) {
    const std::string input = to_base64url(as_bytes(json{{"alg", name}, {"kid", "one"}}.dump())) + "." +
                              to_base64url(as_bytes(good_claims().dump()));
    EXPECT_EQ(verify(input + "."), token_fault::kAlgorithm) << name;
    EXPECT_EQ(verify(input + "." + to_base64url(key_.signature(input))), token_fault::kAlgorithm) << name;
  }
}

TEST_P(JwtAttack, AlgorithmsThatAreNotOurs) {
  for (const char* name :
       {"HS256", "HS512", "RS512", "PS256", "ES384", "ES256K", "Ed25519", "es256", "eddsa", "RS256 "}) {
    EXPECT_EQ(with_header(header_with("alg", name)), token_fault::kAlgorithm) << name;
  }
  for (const json& value : {json(), json(256), json::array({"EdDSA"}), json::object()}) {
    EXPECT_EQ(with_header(header_with("alg", value)), token_fault::kAlgorithm) << value.dump();
  }
}

TEST_P(JwtAttack, AnotherAlgorithmThanTheKeys) {
  for (const char* name : {"RS256", "ES256", "EdDSA"}) {
    if (name == key_.algorithm_name()) continue;
    EXPECT_EQ(with_header(header_with("alg", name)), token_fault::kKeyMismatch) << name;
  }
}

TEST_P(JwtAttack, UnknownKeyId) {
  EXPECT_EQ(with_header(header_with("kid", "two")), token_fault::kKeyUnknown);
  EXPECT_EQ(with_header(header_with("kid", "ONE")), token_fault::kKeyUnknown);
  EXPECT_EQ(with_header(header_with("kid", "one\n")), token_fault::kKeyUnknown);
}

TEST_P(JwtAttack, KeyIdOfTheWrongForm) {
  for (const json& value : {json(1), json(""), json(std::string(kKeyIdBytesMax + 1, 'k')), json::array({"one"})}) {
    EXPECT_EQ(with_header(header_with("kid", value)), token_fault::kMalformed) << value.dump();
  }
}

TEST_P(JwtAttack, NoKeyIdIsFineWithOneKeyThatFitsAndRefusedWithTwo) {
  const MintKey other(GetParam(), "two", 9);
  json header = key_.header();
  header.erase("kid");
  const std::string token = key_.token_of(header.dump(), good_claims().dump());
  EXPECT_EQ(verify_with(token, keys_), "accepted");
  EXPECT_EQ(verify_with(token, set_of({key_.jwk(), other.jwk()})), token_fault::kKeyMissing);
  EXPECT_EQ(verify_with(token, set_of({other.jwk()})), token_fault::kSignature);
}

TEST_P(JwtAttack, ASignatureOfAnotherKeyOfTheIssuer) {
  const MintKey other(GetParam(), "two", 9);
  EXPECT_EQ(verify_with(other.token_of(key_.header().dump(), good_claims().dump()), set_of({key_.jwk(), other.jwk()})),
            token_fault::kSignature);
}

TEST_P(JwtAttack, EmbeddedKeysAndTheirAddressesAreNotRead) {
  const MintKey forger(GetParam(), "one", 66);
  for (const char* name : {"jwk", "x5c", "jku", "x5u"}) {
    json header = header_with(name, "https://forger.example/keys");
    if (std::string_view(name) == "jwk") header[name] = forger.jwk();
    if (std::string_view(name) == "x5c") header[name] = json::array({"MIIB"});
    EXPECT_EQ(verify(forger.token_of(header.dump(), good_claims().dump())), token_fault::kSignature) << name;
    header.erase("kid");
    EXPECT_EQ(verify(forger.token_of(header.dump(), good_claims().dump())), token_fault::kSignature) << name;
  }
}

TEST_P(JwtAttack, CriticalExtensions) {
  EXPECT_EQ(with_header(header_with("crit", json::array({"exp"}))), token_fault::kCritical);
  EXPECT_EQ(with_header(header_with("crit", json::array())), token_fault::kCritical);
  EXPECT_EQ(with_header(header_with("crit", nullptr)), token_fault::kCritical);
}

TEST_P(JwtAttack, TokensOfAnotherType) {
  for (const json& type : {json("dpop+jwt"), json("logout+jwt"), json("JWE"), json(""), json(nullptr), json(1)}) {
    EXPECT_EQ(with_header(header_with("typ", type)), token_fault::kType) << type.dump();
  }
  for (const char* type : {"JWT", "jwt", "at+jwt", "AT+JWT"}) {
    EXPECT_EQ(with_header(header_with("typ", type)), "accepted") << type;
  }
  json header = key_.header();
  header.erase("typ");
  EXPECT_EQ(with_header(header), "accepted");
}

TEST_P(JwtAttack, AlteredPayload) {
  json claims = good_claims();
  claims["roles"] = {"fl-operators", "fl-admins"};
  const size_t first = good_.find('.');
  const size_t second = good_.rfind('.');
  const std::string altered = good_.substr(0, first + 1) + to_base64url(as_bytes(claims.dump())) + good_.substr(second);
  EXPECT_EQ(verify(altered), token_fault::kSignature);
}

TEST_P(JwtAttack, AlteredHeader) {
  json header = key_.header();
  header["x"] = 1;
  EXPECT_EQ(verify(to_base64url(as_bytes(header.dump())) + good_.substr(good_.find('.'))), token_fault::kSignature);
}

TEST_P(JwtAttack, TruncatedAnywhere) {
  for (size_t size = 0; size < good_.size(); ++size) EXPECT_NE(verify(good_.substr(0, size)), "accepted") << size;
}

TEST_P(JwtAttack, PartsTooFewOrTooMany) {
  for (const std::string& token : {good_ + ".", good_ + ".e30", "." + good_, good_ + "." + good_, std::string(".."),
                                   std::string("."), std::string(), good_.substr(0, good_.rfind('.'))}) {
    EXPECT_EQ(verify(token), token_fault::kMalformed);
  }
}

TEST_P(JwtAttack, PaddingWhitespaceAndForeignLetters) {
  const size_t dot = good_.find('.');
  for (const std::string& token :
       {good_ + "=", good_ + "==", good_ + "\n", " " + good_, good_ + " ",
        good_.substr(0, dot) + "=" + good_.substr(dot), good_.substr(0, dot) + "\r\n" + good_.substr(dot),
        "+" + good_.substr(1), "/" + good_.substr(1), good_ + std::string(1, '\0')}) {
    EXPECT_EQ(verify(token), token_fault::kMalformed);
  }
}

// 64 bytes of signature are 86 letters, the last of which has four bits that mean nothing: sixteen texts for
// one token.
TEST_P(JwtAttack, LettersWithUnusedBits) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const size_t last = alphabet.find(good_.back());
  ASSERT_EQ(last % 16, 0u);
  for (size_t unused = 1; unused < 16; ++unused) {
    EXPECT_EQ(verify(good_.substr(0, good_.size() - 1) + alphabet[last + unused]), token_fault::kMalformed);
  }
}

TEST_P(JwtAttack, KeysTwiceInHeaderClaimsOrInside) {
  const std::string header = key_.header().dump();
  const std::string twice = "{\"alg\":\"none\"," + header.substr(1);
  EXPECT_EQ(verify(key_.token_of(twice, good_claims().dump())), token_fault::kMalformed);
  EXPECT_EQ(verify(key_.token_of(header, "{\"sub\":\"bob\"," + good_claims().dump().substr(1))),
            token_fault::kMalformed);
  EXPECT_EQ(verify(key_.token_of(header, "{\"\\u0073ub\":\"bob\"," + good_claims().dump().substr(1))),
            token_fault::kMalformed);
  EXPECT_EQ(verify(key_.token_of(header, "{\"x\":{\"a\":1,\"a\":2}," + good_claims().dump().substr(1))),
            token_fault::kMalformed);
  // The same name in two objects is no repetition.
  EXPECT_EQ(verify(key_.token_of(header, "{\"x\":{\"sub\":1},\"y\":[{\"sub\":2}]," + good_claims().dump().substr(1))),
            "accepted");
}

TEST_P(JwtAttack, JsonThatIsNotAnObjectOrNotJson) {
  const std::string header = key_.header().dump();
  const std::string claims = good_claims().dump();
  for (const std::string& payload : {std::string(), std::string("null"), std::string("[]"), "[" + claims + "]",
                                     claims + claims, claims + "x", std::string("\xef\xbb\xbf{"), "//\n" + claims,
                                     claims + std::string(1, '\0'), claims.substr(0, claims.size() - 1) + ",}"}) {
    EXPECT_EQ(verify(key_.token_of(header, payload)), token_fault::kMalformed);
    EXPECT_EQ(verify(key_.token_of(payload == "" ? "{" : payload.substr(1), claims)), token_fault::kMalformed);
  }
}

TEST_P(JwtAttack, NestedJson) {
  const std::string header = key_.header().dump();
  const std::string rest = "," + good_claims().dump().substr(1);
  const auto nested = [&](size_t depth) {
    return "{\"x\":" + std::string(depth, '[') + std::string(depth, ']') + rest;
  };
  EXPECT_EQ(verify(key_.token_of(header, nested(kOidcJsonDepthMax - 1))), "accepted");
  EXPECT_EQ(verify(key_.token_of(header, nested(kOidcJsonDepthMax))), token_fault::kMalformed);
  EXPECT_EQ(verify(key_.token_of(header, nested(3000))), token_fault::kMalformed);
}

TEST_P(JwtAttack, InvalidUtf8) {
  const std::string header = key_.header().dump();
  for (const char* bytes : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_EQ(verify(key_.token_of(header, "{\"x\":\"" + std::string(bytes) + "\"," + good_claims().dump().substr(1))),
              token_fault::kMalformed);
  }
}

TEST_P(JwtAttack, TooLarge) {
  EXPECT_EQ(verify(std::string(kTokenBytesMax + 1, 'A')), token_fault::kTooLarge);
  EXPECT_EQ(verify(std::string(kTokenBytesMax, 'A')), token_fault::kMalformed);
  EXPECT_EQ(with_header(header_with("x", std::string(kTokenHeaderBytesMax, 'x'))), token_fault::kTooLarge);
}

TEST(JwtAttackOnEs256, SignatureInDerOrOfAnotherLength) {
  const MintKey key(KeyAlgorithm::p256, "one");
  const JwkSet keys = set_of({key.jwk()});
  const std::string token = key.token(good_claims());
  const std::string input = token.substr(0, token.rfind('.'));
  const Bytes raw = key.signature(input);
  Bytes longer = raw;
  longer.push_back(0);
  for (const Bytes& signature : {key.der_signature(input), longer, Bytes(raw.begin(), raw.end() - 1), Bytes()}) {
    EXPECT_EQ(reason_of(verify_jws(input + "." + to_base64url(signature), keys)), token_fault::kSignature);
  }
  EXPECT_EQ(reason_of(verify_jws(input + "." + to_base64url(raw), keys)), "accepted");
}

// CVE-2022-21449: with r = s = 0 (or both n) an unchecked equation holds for every message.
TEST(JwtAttackOnEs256, RAndSOfZeroOrOfTheOrder) {
  const MintKey key(KeyAlgorithm::p256, "one");
  const JwkSet keys = set_of({key.jwk()});
  const std::string token = key.token(good_claims());
  const std::string input = token.substr(0, token.rfind('.'));
  const Bytes raw = key.signature(input);
  const Bytes zero(32, 0);
  const Bytes order = *from_hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
  const Bytes r(raw.begin(), raw.begin() + 32);
  const Bytes s(raw.begin() + 32, raw.end());
  for (const auto& [first, second] :
       {std::pair(zero, zero), std::pair(zero, s), std::pair(r, zero), std::pair(order, order), std::pair(r, order),
        std::pair(order, s), std::pair(s, r)}) {
    Bytes signature = first;
    signature.insert(signature.end(), second.begin(), second.end());
    EXPECT_EQ(reason_of(verify_jws(input + "." + to_base64url(signature), keys)), token_fault::kSignature);
  }
}

// With a key of small order, R = identity and S = 0 satisfy the equation for many messages.
TEST(JwtAttackOnEdDsa, KeysOfSmallOrder) {
  const MintKey key(KeyAlgorithm::ed25519, "one");
  const std::string token = key.token(good_claims());
  const std::string input = token.substr(0, token.rfind('.'));
  Bytes identity(32, 0);
  identity[0] = 1;
  Bytes signature = identity;
  signature.resize(64, 0);
  for (const char* hex : {"0100000000000000000000000000000000000000000000000000000000000000",
                          "0000000000000000000000000000000000000000000000000000000000000000",
                          "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                          "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"}) {
    const Bytes small = *from_hex(hex);
    const JwkSet parsed = set_of({{{"kty", "OKP"}, {"crv", "Ed25519"}, {"kid", "one"}, {"x", to_base64url(small)}}});
    EXPECT_EQ(parsed.keys.size(), 0u) << hex;
    EXPECT_EQ(parsed.skipped_malformed, 1u) << hex;
    JwkSet forced;
    forced.keys.push_back({.kid = "one", .key = Ed25519PublicKey{.bytes = small}});
    EXPECT_EQ(reason_of(verify_jws(input + "." + to_base64url(signature), forced)), token_fault::kSignature) << hex;
  }
}

}  // namespace
}  // namespace coterie
