// ID tokens (OpenID Connect Core 1.0 section 3.1.3.7): what a provider says of who has just signed in, to this client
// and for this sign-in. Pure.
#pragma once

#include <string>

#include "fl_server/oidc/jwt.h"

namespace coterie {

namespace token_fault {
inline constexpr std::string_view kNonce = "token_nonce";  // of another sign-in, or of none
inline constexpr std::string_view kParty = "token_party";  // `azp`: made for another client
}  // namespace token_fault

// For whom, and for which sign-in, an ID token has to be.
struct IdTokenWanted {
  std::string client_id;
  std::string nonce;
};

// As verify_jwt, with the client in place of the audience, and besides: `nonce` is the one that is wanted, and `azp` is
// the client: where it is given, and it is where there are several audiences.
Result<OidcIdentity> verify_id_token(std::string_view token, const JwkSet& keys, const OidcSettings& settings,
                                     const IdTokenWanted& wanted, WallTime now);

// The second half, of a payload that is signed.
Result<OidcIdentity> check_id_claims(ByteView payload, const OidcSettings& settings, const IdTokenWanted& wanted,
                                     WallTime now);

}  // namespace coterie
