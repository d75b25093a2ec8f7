// HMAC-SHA256 (RFC 2104), domain-separated: a tag made for one purpose is never valid for another.
#pragma once

#include <string_view>

#include "base/bytes.h"
#include "secure/crypto/secret.h"

namespace coterie {

using MacKey = Secret<32>;

// HMAC-SHA256(key, domain || 0x00 || message). `domain` has no zero byte.
Digest mac(const MacKey& key, std::string_view domain, ByteView message);

bool mac_is_valid(const MacKey& key, std::string_view domain, ByteView message, ByteView tag);

}  // namespace coterie
