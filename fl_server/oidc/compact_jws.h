// The compact form of a signed token (RFC 7515 section 7.1): header.payload.signature, each base64url.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fl_server/oidc/jwks.h"

namespace coterie {

inline constexpr size_t kTokenBytesMax = 16 * 1024;       // Keycloak's and Entra's with many groups have 2 to 8 KiB
inline constexpr size_t kTokenHeaderBytesMax = 2 * 1024;  // decoded

// Why a token was refused: Error::reason() of whatever fails here or in jwt.h, all with
// ErrorCode::unauthenticated. No message ever repeats what the token says.
namespace token_fault {
inline constexpr std::string_view kMalformed = "token_malformed";  // not three parts of base64url, or not JSON
inline constexpr std::string_view kTooLarge = "token_too_large";
inline constexpr std::string_view kAlgorithm = "token_algorithm";       // none, HS256 and all others that are not ours
inline constexpr std::string_view kType = "token_type";                 // `typ` of something else
inline constexpr std::string_view kCritical = "token_critical";         // `crit`: extensions that we do not know
inline constexpr std::string_view kKeyUnknown = "token_key_unknown";    // no key of the issuer has this `kid`
inline constexpr std::string_view kKeyMismatch = "token_key_mismatch";  // it has, but is of another kind
inline constexpr std::string_view kKeyMissing = "token_key_missing";  // no `kid`, and several keys that might be meant
inline constexpr std::string_view kSignature = "token_signature";
inline constexpr std::string_view kClaims = "token_claims";  // a claim is missing or has the wrong form
inline constexpr std::string_view kIssuer = "token_issuer";
inline constexpr std::string_view kAudience = "token_audience";
inline constexpr std::string_view kExpired = "token_expired";
inline constexpr std::string_view kNotYetValid = "token_not_yet_valid";
inline constexpr std::string_view kLifetime = "token_lifetime";  // valid for longer than we allow
}  // namespace token_fault

struct CompactJws {
  JwsAlgorithm algorithm;
  std::string kid;                 // empty: has none
  std::string_view signing_input;  // of the token's text, which must outlive it
  Bytes payload;
  Bytes signature;
};

// Form alone; nothing here is true before a signature is verified. Members of the header that bring or locate
// keys (`jwk`, `jku`, `x5c`, `x5u`) are not read.
Result<CompactJws> parse_compact_jws(std::string_view token);

// The payload, if a key of the set that fits the header has signed it.
Result<Bytes> verify_jws(std::string_view token, const JwkSet& keys);

}  // namespace coterie
