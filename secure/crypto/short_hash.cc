#include "secure/crypto/short_hash.h"

#include <sodium.h>

#include <tuple>

#include "secure/crypto/random.h"
#include "secure/crypto/sodium.h"

namespace coterie {

static_assert(std::tuple_size_v<ShortHash::Key> == crypto_shorthash_KEYBYTES);

ShortHash ShortHash::fresh() {
  Key key;
  fill_random(key);
  return ShortHash(key);
}

uint64_t ShortHash::operator()(ByteView message) const {
  ensure_sodium();
  std::array<uint8_t, crypto_shorthash_BYTES> hash;
  crypto_shorthash(hash.data(), message.data(), message.size(), key_.data());
  uint64_t value = 0;
  for (size_t i = hash.size(); i > 0; --i) value = value << 8 | hash[i - 1];
  return value;
}

}  // namespace coterie
