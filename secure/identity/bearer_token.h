// Tokens of operators and of enrollment: 256 random bits shown once, stored as a digest.
//
// Text form "cot_" + base64url of 32 bytes. Being random, a token needs no slow hash against guessing.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace coterie {

std::string generate_token();

// What the server stores and compares.
Digest token_digest(std::string_view token);

}  // namespace coterie
