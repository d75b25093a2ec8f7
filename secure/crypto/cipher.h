// AuthenticatedCipher: hides a text from everybody without the key, and tells whether it was changed.
//
// An interface alone, so that code which links no cryptography can be handed some: what xchacha20_poly1305.h
// makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace coterie {

inline constexpr size_t kCipherNonceBytes = 24, kCipherTagBytes = 16;

// Thread-safe. The nonce of two texts under one key must never be the same.
class AuthenticatedCipher {
 public:
  using Nonce = std::span<const uint8_t, kCipherNonceBytes>;

  virtual ~AuthenticatedCipher() = default;

  // Unpredictable bytes, for nonces.
  virtual void fill_random(std::span<uint8_t> bytes) const = 0;
  // Encrypts `text` where it is and fills `tag`, which vouches for `text` and `context` both; `context` is
  // not hidden.
  virtual void seal(Nonce nonce, ByteView context, std::span<uint8_t> text,
                    std::span<uint8_t, kCipherTagBytes> tag) const = 0;
  // The reverse. False unless text, context, nonce and tag are those of a seal() with this key; then `text`
  // is worthless.
  [[nodiscard]] virtual bool open(Nonce nonce, ByteView context, std::span<uint8_t> text,
                                  std::span<const uint8_t, kCipherTagBytes> tag) const = 0;
};

}  // namespace coterie
