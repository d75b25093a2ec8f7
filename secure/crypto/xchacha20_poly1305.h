// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03; the IETF construction of RFC 8439 with a nonce of 24 bytes,
// long enough to be drawn at random).
#pragma once

#include <memory>

#include "base/result.h"
#include "secure/crypto/cipher.h"
#include "secure/crypto/secret.h"

namespace coterie {

using CipherKey = Secret<32>;

// As the interface that code without cryptography is handed.
std::unique_ptr<AuthenticatedCipher> make_xchacha20_poly1305(CipherKey key);

// Messages that travel: text and tag in one. `context` is vouched for and not part of it. The nonce of two texts under
// one key must never be the same; a key that is derived for a single message may have a nonce of zeros.

// Fills `sealed`, which is longer than `text` by kCipherTagBytes; they may begin at the same byte, not overlap
// otherwise.
void seal_xchacha20_poly1305(const CipherKey& key, AuthenticatedCipher::Nonce nonce, ByteView context, ByteView text,
                             std::span<uint8_t> sealed);
// Fills `text` from `sealed`. Malformed, and `text` zeros, unless text is as long as sealed without its tag and the
// bytes were sealed with this key, nonce and context.
Status open_xchacha20_poly1305(const CipherKey& key, AuthenticatedCipher::Nonce nonce, ByteView context,
                               ByteView sealed, std::span<uint8_t> text);

}  // namespace coterie
