// ECDSA P-256 by libcrypto. Private to secure/crypto: others use signature.h.
#pragma once

#include "secure/crypto/signature.h"

namespace coterie {

bool p256_is_valid(ByteView public_key, ByteView message, ByteView der_signature);
bool p256_key_is_valid(ByteView public_key);
Result<std::unique_ptr<Signer>> make_p256_signer(ByteView scalar);

}  // namespace coterie
