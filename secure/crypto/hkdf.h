// HKDF-SHA256 (RFC 5869): keys from an agreed secret. `info` says what a key is for: domain_fields.h makes it.
//
// An empty salt is 32 zero bytes, as the RFC has it. One extraction and 32 bytes take some 2 us.
#pragma once

#include "base/bytes.h"
#include "secure/crypto/secret.h"

namespace coterie {

inline constexpr size_t kHkdfBytesMax = 255 * 32;

// RFC 5869 section 2.2: a uniform key from one whose strength may be spread unevenly (a point of a curve).
Secret<32> hkdf_extract(ByteView salt, ByteView input_key);

// Section 2.3: fills `out`, at most kHkdfBytesMax bytes. `key` is what extract gave, or another uniform key.
void hkdf_expand(const Secret<32>& key, ByteView info, std::span<uint8_t> out);

// Both.
template <size_t kBytes>
Secret<kBytes> hkdf(ByteView salt, ByteView input_key, ByteView info) {
  Secret<kBytes> derived;
  hkdf_expand(hkdf_extract(salt, input_key), info, derived.mutable_bytes());
  return derived;
}

}  // namespace coterie
