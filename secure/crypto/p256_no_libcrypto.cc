// P-256 of an SDK without OpenSSL: it verifies what others sign, and signs with no key of its own.
#include "secure/crypto/p256.h"
#include "secure/crypto/p256_check.h"

namespace coterie {

bool p256_is_valid(ByteView public_key, ByteView message, ByteView der_signature) {
  return p256_check_signature(public_key, message, der_signature);
}

bool p256_key_is_valid(ByteView public_key) { return p256_check_key(public_key); }

Status p256_can_sign() {
  return Error(ErrorCode::invalid_argument,
               "this build has no OpenSSL, so it makes no P-256 keys: give the key store's signer, or use Ed25519");
}

Result<std::unique_ptr<Signer>> make_p256_signer(ByteView) { return p256_can_sign().error(); }

}  // namespace coterie
