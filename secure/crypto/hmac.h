// HMAC-SHA256 (RFC 2104) of exactly the bytes given, for protocols of others that say so; our own tags are
// mac.h's.
#pragma once

#include <span>

#include "base/bytes.h"
#include "secure/crypto/secret.h"

namespace coterie {

// A key of any length, as the RFC has it.
Digest hmac_sha256(ByteView key, ByteView message);

// The same where the tag is a key of something else.
Secret<32> hmac_sha256_key(ByteView key, ByteView message);

}  // namespace coterie
