// ECDSA P-256: by libcrypto (p256.cc), or in an SDK without OpenSSL by p256_check.h, which makes no signatures
// (p256_no_libcrypto.cc). Private to secure/crypto: others use signature.h.
#pragma once

#include "secure/crypto/signature.h"

namespace coterie {

bool p256_is_valid(ByteView public_key, ByteView message, ByteView der_signature);
bool p256_key_is_valid(ByteView public_key);
Result<std::unique_ptr<Signer>> make_p256_signer(ByteView scalar);
// An error where make_p256_signer has no way to sign, whatever the scalar.
Status p256_can_sign();

}  // namespace coterie
