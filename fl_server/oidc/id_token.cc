#include "fl_server/oidc/id_token.h"

#include <nlohmann/json.hpp>

#include "fl_server/oidc/strict_json.h"
#include "secure/crypto/secret.h"

namespace coterie {
namespace {

Error refuse(std::string_view reason, std::string message) {
  return Error(ErrorCode::unauthenticated, "ID token: " + std::move(message), reason);
}

}  // namespace

Result<OidcIdentity> check_id_claims(ByteView payload, const OidcSettings& settings, const IdTokenWanted& wanted,
                                     WallTime now) {
  OidcSettings for_client = settings;
  for_client.audience = wanted.client_id;
  COT_ASSIGN(OidcIdentity identity, check_claims(payload, for_client, now));
  const auto claims = parse_strict_object(as_text(payload));  // it is one: check_claims has read it
  const std::string* nonce = string_under(*claims, "nonce");
  if (nonce == nullptr || !equal_in_constant_time(as_bytes(*nonce), as_bytes(wanted.nonce))) {
    return refuse(token_fault::kNonce, "it is not of this sign-in: its nonce is another, or missing");
  }
  const auto audience = claims->find("aud");
  const bool has_several = audience->is_array() && audience->size() > 1;
  const std::string* party = string_under(*claims, "azp");
  const bool is_for_us = party != nullptr ? *party == wanted.client_id : !claims->contains("azp") && !has_several;
  if (!is_for_us) return refuse(token_fault::kParty, "it was made for another client: `azp` is not client_id");
  return identity;
}

Result<OidcIdentity> verify_id_token(std::string_view token, const JwkSet& keys, const OidcSettings& settings,
                                     const IdTokenWanted& wanted, WallTime now) {
  COT_ASSIGN(const Bytes payload, verify_jws(token, keys));
  return check_id_claims(payload, settings, wanted, now);
}

}  // namespace coterie
