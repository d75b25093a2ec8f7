// Which 32 bytes can encode an element of ristretto255 at all. Private to secure/crypto.
#pragma once

#include "secure/crypto/ristretto.h"

namespace coterie {

// A number below 2^255 - 19 that is even (RFC 9496 section 4.3.1, step 1). libsodium 1.0.18 does not look at the
// highest bit, so that it takes two encodings for each element.
inline bool is_canonical_ristretto(const RistrettoElement& element) {
  const auto& bytes = element.bytes;
  bool below = bytes[0] < 0xed;
  for (size_t i = 1; i < 31; ++i) below = below || bytes[i] != 0xff;
  return (below || bytes[31] != 0x7f) && (bytes[31] & 0x80) == 0 && (bytes[0] & 1) == 0;
}

}  // namespace coterie
