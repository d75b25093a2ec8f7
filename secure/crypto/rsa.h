// RSA signatures, to verify only: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section 8.2), by libcrypto.
// Nothing of ours is signed with RSA; issuers of tokens still are.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace coterie {

// Below, keys can be broken one day soon (NIST SP 800-131A); above, a stranger's key would make us work.
inline constexpr size_t kRsaModulusBitsMin = 2048;
inline constexpr size_t kRsaModulusBitsMax = 4096;
// 65537 is what everybody uses (NIST SP 800-56B asks for more than 2^16); with 3, forgeries of sloppy padding
// are cheap.
inline constexpr uint32_t kRsaExponentMin = 65537;

// Unsigned big-endian numbers without leading zeros, as in a JWK (RFC 7518 section 6.3.1).
struct RsaPublicKey {
  Bytes modulus;
  Bytes exponent;
};

// Whether modulus and exponent are within the limits above (the exponent has at most 32 bits), odd, and in
// the form said.
bool rsa_key_is_valid(const RsaPublicKey& key);

// Whether `signature` is one of `message`. A key that rsa_key_is_valid refuses verifies nothing.
bool rs256_is_valid(const RsaPublicKey& key, ByteView message, ByteView signature);

}  // namespace coterie
