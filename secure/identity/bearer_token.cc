#include "secure/identity/bearer_token.h"

#include "secure/crypto/random.h"
#include "secure/crypto/sha256.h"

namespace coterie {

std::string generate_token() { return "cot_" + to_base64url(random_bytes(32)); }

Digest token_digest(std::string_view token) { return sha256(as_bytes(token)); }

}  // namespace coterie
