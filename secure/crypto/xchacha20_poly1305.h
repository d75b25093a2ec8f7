// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03; the IETF construction of RFC 8439 with a nonce of 24 bytes,
// long enough to be drawn at random).
#pragma once

#include <memory>

#include "secure/crypto/cipher.h"
#include "secure/crypto/secret.h"

namespace coterie {

using CipherKey = Secret<32>;

std::unique_ptr<AuthenticatedCipher> make_xchacha20_poly1305(CipherKey key);

}  // namespace coterie
