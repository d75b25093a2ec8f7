// Tokens of operators and of enrollment: 256 random bits shown once, stored as a digest.
//
// Text form "cot_" + base64url of 32 bytes. Being random, a token needs no slow hash against guessing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace coterie {

std::string generate_token();

// What the server stores and compares.
Digest token_digest(std::string_view token);

// The token in the value of a request's header Authorization (RFC 6750); none: it has no bearer token.
std::optional<std::string_view> bearer_token(std::string_view authorization);

// What every plane says to a request without a token, and to one whose token is nobody's: unauthenticated.
Error bearer_token_needed();

}  // namespace coterie
