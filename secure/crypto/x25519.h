// X25519 (RFC 7748): two parties agree on a secret by what each tells the other.
#pragma once

#include <array>

#include "base/bytes.h"
#include "base/result.h"
#include "secure/crypto/secret.h"

namespace coterie {

struct X25519PublicKey {
  std::array<uint8_t, 32> bytes{};

  ByteView view() const { return bytes; }
  friend auto operator<=>(const X25519PublicKey&, const X25519PublicKey&) = default;
};

// Whether the bytes are the one encoding of their point (below 2^255 - 19), and the point is not of small order. A list
// of participants asks this of each key, so that two keys in it that differ are two points.
bool x25519_public_key_is_valid(const X25519PublicKey& key);

// Immutable, so thread-safe.
class X25519KeyPair {
 public:
  static X25519KeyPair generate();
  // Any 32 bytes are a private key.
  explicit X25519KeyPair(Secret<32> secret);

  const X25519PublicKey& public_key() const { return public_key_; }
  const Secret<32>& secret() const { return secret_; }

  // The secret that both have: a point, to be put through hkdf.h before it is a key. An error if the peer's key is a
  // point of small order, with which anybody could know the outcome (RFC 7748 section 6.1). As the RFC asks, encodings
  // that x25519_public_key_is_valid() refuses are taken otherwise.
  Result<Secret<32>> agree(const X25519PublicKey& peer) const;

 private:
  Secret<32> secret_;
  X25519PublicKey public_key_;
};

}  // namespace coterie
