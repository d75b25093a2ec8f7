#include "secure/crypto/ed25519.h"

#include <sodium.h>

#include "secure/crypto/secret.h"
#include "secure/crypto/sodium.h"

namespace coterie {
namespace {

class Ed25519Signer : public Signer {
 public:
  explicit Ed25519Signer(ByteView seed) : public_key_(crypto_sign_PUBLICKEYBYTES) {
    crypto_sign_seed_keypair(public_key_.data(), secret_.mutable_bytes().data(), seed.data());
  }
  KeyAlgorithm algorithm() const override { return KeyAlgorithm::ed25519; }
  const Bytes& public_key() const override { return public_key_; }
  Result<Bytes> sign(ByteView message) const override {
    Bytes signature(crypto_sign_BYTES);
    crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(), secret_.reveal().data());
    return signature;
  }

 private:
  Bytes public_key_;
  Secret<crypto_sign_SECRETKEYBYTES> secret_;
};

}  // namespace

bool ed25519_is_valid(ByteView public_key, ByteView message, ByteView signature) {
  ensure_sodium();
  // Sizes first: libsodium takes pointers and reads as much as it expects.
  return public_key.size() == crypto_sign_PUBLICKEYBYTES && signature.size() == crypto_sign_BYTES &&
         crypto_sign_verify_detached(signature.data(), message.data(), message.size(), public_key.data()) == 0;
}

bool ed25519_key_is_valid(ByteView public_key) {
  ensure_sodium();
  // Rejects points of small order and encodings that are not canonical.
  return public_key.size() == crypto_sign_PUBLICKEYBYTES && crypto_core_ed25519_is_valid_point(public_key.data()) == 1;
}

Result<std::unique_ptr<Signer>> make_ed25519_signer(ByteView seed) {
  ensure_sodium();
  if (seed.size() != crypto_sign_SEEDBYTES) return Error(ErrorCode::invalid_argument, "an Ed25519 seed has 32 bytes");
  return std::unique_ptr<Signer>(std::make_unique<Ed25519Signer>(seed));
}

}  // namespace coterie
