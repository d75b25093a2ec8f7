// The nonces of an authority, without a memory: it knows its own again, and how old they are.
//
//   8 bytes seconds since 1970, big-endian | 8 random bytes | 16 bytes tag
//
// The tag is the head of SHA-256 of the authority's Ed25519 signature of the rest, which nobody else can make and which
// is the same each time (RFC 8032). A nonce is good for as long as a person needs; that it may be used twice
// in that time does no harm, as what it stands in is signed by the device's key.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "secure/crypto/signature.h"
#include "secure/identity/attestation.h"

namespace coterie {

inline constexpr Millis kAuthorityNonceAgeMax{600'000};

// `random`: 64 fresh bits. invalid_argument: the authority's key is not Ed25519.
Result<Bytes> make_authority_nonce(WallTime now, uint64_t random, const Signer& authority);

// permission_denied: not this authority's, older than that, or from the future.
Status check_authority_nonce(ByteView nonce, WallTime now, const Signer& authority);

}  // namespace coterie
