#include "fl_server/oidc/jwks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fl_server/oidc/strict_json.h"
#include "secure/crypto/signature.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr size_t kCoordinateBytes = 32;

enum class Fit : uint8_t { ours, foreign, malformed };

// A member that says what the key is for must say what we want, where it is present.
Fit fit_of_member(const json& jwk, const char* name, std::string_view wanted) {
  if (!jwk.contains(name)) return Fit::ours;
  const std::string* value = string_under(jwk, name);
  if (value == nullptr) return Fit::malformed;
  return *value == wanted ? Fit::ours : Fit::foreign;
}

Fit fit_of_operations(const json& jwk) {
  const auto operations = jwk.find("key_ops");
  if (operations == jwk.end()) return Fit::ours;
  if (!operations->is_array()) return Fit::malformed;
  return std::find(operations->begin(), operations->end(), "verify") == operations->end() ? Fit::foreign : Fit::ours;
}

Fit fit_of_use(const json& jwk, std::string_view algorithm) {
  for (const Fit fit :
       {fit_of_member(jwk, "use", "sig"), fit_of_member(jwk, "alg", algorithm), fit_of_operations(jwk)}) {
    if (fit != Fit::ours) return fit;
  }
  return jwk.contains("d") ? Fit::malformed : Fit::ours;  // a private key that is public is no key
}

Bytes bytes_under(const json& jwk, const char* name) {
  const std::string* text = string_under(jwk, name);
  return text == nullptr ? Bytes() : from_base64url(*text).value_or(Bytes());
}

Fit read_rsa(const json& jwk, VerificationKey& key) {
  if (const Fit fit = fit_of_use(jwk, "RS256"); fit != Fit::ours) return fit;
  RsaPublicKey rsa{.modulus = bytes_under(jwk, "n"), .exponent = bytes_under(jwk, "e")};
  if (!rsa_key_is_valid(rsa)) return Fit::malformed;
  key.key = std::move(rsa);
  return Fit::ours;
}

Fit read_p256(const json& jwk, VerificationKey& key) {
  const Bytes x = bytes_under(jwk, "x");
  const Bytes y = bytes_under(jwk, "y");
  if (x.size() != kCoordinateBytes || y.size() != kCoordinateBytes) return Fit::malformed;
  P256PublicKey p256{.point = {0x04}};
  p256.point.insert(p256.point.end(), x.begin(), x.end());
  p256.point.insert(p256.point.end(), y.begin(), y.end());
  if (!public_key_is_valid(KeyAlgorithm::p256, p256.point)) return Fit::malformed;
  key.key = std::move(p256);
  return Fit::ours;
}

Fit read_ed25519(const json& jwk, VerificationKey& key) {
  Ed25519PublicKey ed25519{.bytes = bytes_under(jwk, "x")};
  if (!public_key_is_valid(KeyAlgorithm::ed25519, ed25519.bytes)) return Fit::malformed;
  key.key = std::move(ed25519);
  return Fit::ours;
}

Fit read_on_curve(const json& jwk, const char* curve, const char* algorithm, Fit (*read)(const json&, VerificationKey&),
                  VerificationKey& key) {
  const std::string* named = string_under(jwk, "crv");
  if (named == nullptr) return Fit::malformed;
  if (*named != curve) return Fit::foreign;
  const Fit fit = fit_of_use(jwk, algorithm);
  return fit == Fit::ours ? read(jwk, key) : fit;
}

Fit read_jwk(const json& jwk, VerificationKey& key) {
  const std::string* type = jwk.is_object() ? string_under(jwk, "kty") : nullptr;
  if (type == nullptr) return Fit::malformed;
  if (jwk.contains("kid")) {
    const std::string* kid = string_under(jwk, "kid");
    if (kid == nullptr || kid->size() > kKeyIdBytesMax) return Fit::malformed;
    key.kid = *kid;
  }
  if (*type == "RSA") return read_rsa(jwk, key);
  if (*type == "EC") return read_on_curve(jwk, "P-256", "ES256", read_p256, key);
  if (*type == "OKP") return read_on_curve(jwk, "Ed25519", "EdDSA", read_ed25519, key);
  return Fit::foreign;
}

bool is_there(const std::vector<VerificationKey>& keys, const VerificationKey& key) {
  return std::any_of(keys.begin(), keys.end(), [&](const VerificationKey& other) {
    return !key.kid.empty() && other.kid == key.kid && other.algorithm() == key.algorithm();
  });
}

}  // namespace

Result<JwkSet> parse_jwk_set(std::string_view text) {
  if (text.size() > kJwkSetBytesMax) {
    return Error(ErrorCode::too_large, "the JWK set has " + std::to_string(text.size()) + " bytes, at most " +
                                           std::to_string(kJwkSetBytesMax) + " are read");
  }
  const auto json = parse_strict_object(text);
  const auto keys = json ? json->find("keys") : nlohmann::json::const_iterator();
  if (!json || keys == json->end() || !keys->is_array()) {
    return Error(ErrorCode::malformed,
                 "not a JWK set: expected a JSON object with a list \"keys\" (RFC 7517); is jwks_url right?");
  }
  if (keys->size() > kJwkSetKeysMax) {
    return Error(ErrorCode::too_large, "the JWK set has " + std::to_string(keys->size()) + " keys, at most " +
                                           std::to_string(kJwkSetKeysMax) + " are read");
  }
  JwkSet set;
  for (const auto& jwk : *keys) {
    VerificationKey key;
    Fit fit = read_jwk(jwk, key);
    if (fit == Fit::ours && is_there(set.keys, key)) fit = Fit::malformed;
    if (fit == Fit::ours) set.keys.push_back(std::move(key));
    set.skipped_foreign += fit == Fit::foreign ? 1 : 0;
    set.skipped_malformed += fit == Fit::malformed ? 1 : 0;
  }
  return set;
}

}  // namespace coterie
