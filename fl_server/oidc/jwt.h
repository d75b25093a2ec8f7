// Bearer tokens of an OpenID Connect issuer: JWTs (RFC 7519), used as RFC 8725 and RFC 9068 advise.
//
//   Result<OidcIdentity> who = verify_jwt(token, keys, settings, now);
//
// Pure: keys and time are arguments. All failures are unauthenticated, with a reason of token_fault
// (compact_jws.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fl_server/oidc/compact_jws.h"
#include "fl_server/oidc/oidc_settings.h"

namespace coterie {

inline constexpr size_t kSubjectBytesMax = 255;  // OpenID Connect Core 1.0 section 2
inline constexpr size_t kTenantBytesMax = 128;
inline constexpr size_t kTokenRolesMax = 512;  // listed in one token
inline constexpr size_t kTokenAudiencesMax = 64;

// Who holds the token. Subjects are unique within an issuer alone.
struct OidcIdentity {
  std::string subject;
  std::string issuer;
  std::vector<std::string> roles;  // ours, sorted, each once; maybe none
  std::string tenant;              // empty if tenant_claim is
  WallTime expires;                // `exp`, without leeway

  friend bool operator==(const OidcIdentity&, const OidcIdentity&) = default;
};

// Precondition: validate(settings) is empty.
Result<OidcIdentity> verify_jwt(std::string_view token, const JwkSet& keys, const OidcSettings& settings, WallTime now);

// The second half: what a payload that is signed claims.
Result<OidcIdentity> check_claims(ByteView payload, const OidcSettings& settings, WallTime now);

}  // namespace coterie
