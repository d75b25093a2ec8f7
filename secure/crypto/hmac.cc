#include "secure/crypto/hmac.h"

#include <sodium.h>

#include "secure/crypto/sodium.h"

namespace coterie {
namespace {

void hmac_into(ByteView key, ByteView message, std::span<uint8_t, 32> tag) {
  ensure_sodium();
  const uint8_t nothing = 0;  // libsodium wants an address, for no bytes, too
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, key.empty() ? &nothing : key.data(), key.size());
  crypto_auth_hmacsha256_update(&state, message.empty() ? &nothing : message.data(), message.size());
  crypto_auth_hmacsha256_final(&state, tag.data());
  sodium_memzero(&state, sizeof state);
}

}  // namespace

Digest hmac_sha256(ByteView key, ByteView message) {
  Digest tag;
  hmac_into(key, message, tag.bytes);
  return tag;
}

Secret<32> hmac_sha256_key(ByteView key, ByteView message) {
  Secret<32> tag;
  hmac_into(key, message, tag.mutable_bytes());
  return tag;
}

}  // namespace coterie
