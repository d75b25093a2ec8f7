#include "secure/crypto/signature.h"

#include "secure/crypto/ed25519.h"
#include "secure/crypto/p256.h"
#include "secure/crypto/random.h"

namespace coterie {

bool signature_is_valid(KeyAlgorithm algorithm, ByteView public_key, ByteView message, ByteView signature) {
  switch (algorithm) {
    case KeyAlgorithm::ed25519: return ed25519_is_valid(public_key, message, signature);
    case KeyAlgorithm::p256: return p256_is_valid(public_key, message, signature);
  }
  return false;
}

bool public_key_is_valid(KeyAlgorithm algorithm, ByteView public_key) {
  switch (algorithm) {
    case KeyAlgorithm::ed25519: return ed25519_key_is_valid(public_key);
    case KeyAlgorithm::p256: return p256_key_is_valid(public_key);
  }
  return false;
}

Result<std::unique_ptr<Signer>> make_signer(KeyAlgorithm algorithm, ByteView secret) {
  switch (algorithm) {
    case KeyAlgorithm::ed25519: return make_ed25519_signer(secret);
    case KeyAlgorithm::p256: return make_p256_signer(secret);
  }
  return Error(ErrorCode::invalid_argument, "unknown key algorithm");
}

Status can_make_keys(KeyAlgorithm algorithm) { return algorithm == KeyAlgorithm::p256 ? p256_can_sign() : Status(); }

Bytes generate_secret(KeyAlgorithm algorithm) {
  // Every 32-byte string is an Ed25519 seed; a P-256 scalar must lie in [1, n): redrawn with probability 2^-32.
  for (;;) {
    Bytes secret = random_bytes(32);
    if (make_signer(algorithm, secret)) return secret;
  }
}

}  // namespace coterie
