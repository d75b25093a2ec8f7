#include "secure/crypto/mac.h"

#include <sodium.h>

#include "secure/crypto/sodium.h"

namespace coterie {

void wipe(std::span<uint8_t> bytes) { sodium_memzero(bytes.data(), bytes.size()); }

bool equal_in_constant_time(ByteView a, ByteView b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

Digest mac(const MacKey& key, std::string_view domain, ByteView message) {
  ensure_sodium();
  crypto_auth_hmacsha256_state state;
  const uint8_t separator = 0;
  Digest tag;
  crypto_auth_hmacsha256_init(&state, key.reveal().data(), key.reveal().size());
  crypto_auth_hmacsha256_update(&state, as_bytes(domain).data(), domain.size());
  crypto_auth_hmacsha256_update(&state, &separator, 1);
  crypto_auth_hmacsha256_update(&state, message.data(), message.size());
  crypto_auth_hmacsha256_final(&state, tag.bytes.data());
  return tag;
}

bool mac_is_valid(const MacKey& key, std::string_view domain, ByteView message, ByteView tag) {
  return equal_in_constant_time(mac(key, domain, message).view(), tag);
}

}  // namespace coterie
