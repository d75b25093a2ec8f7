#include "secure/identity/bearer_token.h"

#include "secure/crypto/random.h"
#include "secure/crypto/sha256.h"

namespace coterie {

std::string generate_token() { return "cot_" + to_base64url(random_bytes(32)); }

Digest token_digest(std::string_view token) { return sha256(as_bytes(token)); }

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme)) return std::nullopt;
  return authorization.substr(kScheme.size());
}

Error bearer_token_needed() {
  return Error(ErrorCode::unauthenticated, "a valid bearer token is needed: Authorization: Bearer <token>");
}

}  // namespace coterie
