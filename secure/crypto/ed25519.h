// Ed25519 by libsodium. Private to secure/crypto: others use signature.h.
#pragma once

#include "secure/crypto/signature.h"

namespace coterie {

bool ed25519_is_valid(ByteView public_key, ByteView message, ByteView signature);
bool ed25519_key_is_valid(ByteView public_key);
Result<std::unique_ptr<Signer>> make_ed25519_signer(ByteView seed);

}  // namespace coterie
