// ECDSA P-256 with SHA-256, verified without libcrypto: for an SDK whose app brings its own HTTPS, and carries no
// OpenSSL. Private to secure/crypto: others use signature.h.
//
// It reads public values alone, so its time depends on them. It never signs (ADR 124).
#pragma once

#include "base/bytes.h"

namespace coterie {

// FIPS 186-5, section 6.4.2. The signature must be strict DER (X.690, 10.1), as libcrypto wants it.
bool p256_check_signature(ByteView public_key, ByteView message, ByteView der_signature);

// SEC 1, section 3.2.2.1: an uncompressed point of 65 bytes on the curve. The cofactor is 1, so its order is the
// group's.
bool p256_check_key(ByteView public_key);

}  // namespace coterie
