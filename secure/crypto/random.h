// Unpredictable bytes: keys, tokens, nonces. Decisions that must replay use base/random.h instead.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace coterie {

void fill_random(std::span<uint8_t> bytes);

inline Bytes random_bytes(size_t count) {
  Bytes bytes(count);
  fill_random(bytes);
  return bytes;
}

inline uint64_t random_u64() {
  uint64_t value;
  fill_random(std::span(reinterpret_cast<uint8_t*>(&value), sizeof value));
  return value;
}

}  // namespace coterie
