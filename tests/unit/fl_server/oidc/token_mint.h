// Tokens for tests, minted as they run: by our Ed25519 and P-256 signers, with any header and any claims. RSA
// tokens are data (vectors/rsa.json), since nothing of ours signs with RSA.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "fl_server/oidc/jwt.h"
#include "secure/crypto/signature.h"
#include "tests/support/paths.h"

namespace coterie::test {

inline constexpr int64_t kIssued = 1'700'000'000;
inline const WallTime kTestNow = wall_time_from_unix_ms((kIssued + 60) * 1000);

inline OidcSettings oidc_settings() {
  OidcSettings settings;
  settings.issuer = "https://issuer.example/realms/fl";
  settings.audience = "coterie";
  settings.jwks_url = "https://issuer.example/realms/fl/certs";
  settings.role_map = {{"fl-operators", "operator"}, {"fl-readers", "viewer"}};
  settings.leeway = Millis(30'000);
  return settings;
}

inline nlohmann::json good_claims() {
  return {{"iss", "https://issuer.example/realms/fl"},
          {"aud", "coterie"},
          {"sub", "alice"},
          {"iat", kIssued},
          {"exp", kIssued + 600},
          {"roles", {"fl-operators"}}};
}

// One issuer's key, with its JWK.
class MintKey {
 public:
  MintKey(KeyAlgorithm algorithm, std::string kid, uint8_t seed = 7)
      : signer_(std::move(*make_signer(algorithm, Bytes(32, seed)))), kid_(std::move(kid)) {}

  nlohmann::json jwk() const {
    const Bytes& key = signer_->public_key();
    const ByteView view = key;
    nlohmann::json jwk = {{"kid", kid_}, {"use", "sig"}};
    if (signer_->algorithm() == KeyAlgorithm::ed25519) {
      jwk.update({{"kty", "OKP"}, {"crv", "Ed25519"}, {"x", to_base64url(key)}});
    } else {
      jwk.update({{"kty", "EC"},
                  {"crv", "P-256"},
                  {"x", to_base64url(view.subspan(1, 32))},
                  {"y", to_base64url(view.subspan(33))}});
    }
    return jwk;
  }
  std::string algorithm_name() const { return signer_->algorithm() == KeyAlgorithm::ed25519 ? "EdDSA" : "ES256"; }
  nlohmann::json header() const { return {{"alg", algorithm_name()}, {"kid", kid_}, {"typ", "JWT"}}; }

  std::string token(const nlohmann::json& claims) const { return token_of(header().dump(), claims.dump()); }
  std::string token_of(std::string_view header, std::string_view payload) const {
    const std::string input = to_base64url(as_bytes(header)) + "." + to_base64url(as_bytes(payload));
    return input + "." + to_base64url(signature(input));
  }
  Bytes signature(std::string_view input) const {
    const Bytes signature = *signer_->sign(as_bytes(input));
    return signer_->algorithm() == KeyAlgorithm::ed25519 ? signature : raw_of(signature);
  }
  Bytes der_signature(std::string_view input) const { return *signer_->sign(as_bytes(input)); }

  // SEQUENCE of two INTEGERs -> 32 bytes each.
  static Bytes raw_of(const Bytes& der) {
    Bytes raw;
    size_t at = 2;
    for (int i = 0; i < 2; ++i) {
      const size_t size = der[at + 1];
      Bytes number(der.begin() + static_cast<ptrdiff_t>(at) + 2, der.begin() + static_cast<ptrdiff_t>(at + 2 + size));
      while (number.size() > 32) number.erase(number.begin());
      raw.insert(raw.end(), 32 - number.size(), 0);
      raw.insert(raw.end(), number.begin(), number.end());
      at += 2 + size;
    }
    return raw;
  }

 private:
  std::unique_ptr<Signer> signer_;
  std::string kid_;
};

inline JwkSet set_of(const std::vector<nlohmann::json>& jwks) {
  const Result<JwkSet> set = parse_jwk_set(nlohmann::json{{"keys", jwks}}.dump());
  EXPECT_TRUE(set.has_value());
  return set ? *set : JwkSet{};
}

inline nlohmann::json vectors(const std::string& name) {
  std::ifstream file(source_dir() + "/tests/unit/fl_server/oidc/vectors/" + name);
  return nlohmann::json::parse(file);
}

// The reason of a refusal, or "accepted".
template <typename T>
std::string reason_of(const Result<T>& result) {
  if (result) return "accepted";
  EXPECT_EQ(result.error().code(), ErrorCode::unauthenticated) << result.error().message();
  return std::string(result.error().reason());
}

}  // namespace coterie::test
