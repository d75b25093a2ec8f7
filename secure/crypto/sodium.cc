#include "secure/crypto/sodium.h"

#include <sodium.h>

#include "base/assert.h"
#include "secure/crypto/random.h"

namespace coterie {

void ensure_sodium() {
  static const bool ready = sodium_init() >= 0;
  COT_ASSERT(ready);
}

void fill_random(std::span<uint8_t> bytes) {
  ensure_sodium();
  if (bytes.empty()) return;  // libsodium wants a buffer even for nothing
  randombytes_buf(bytes.data(), bytes.size());
}

}  // namespace coterie
