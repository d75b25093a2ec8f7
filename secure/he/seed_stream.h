// SeedStream: the random numbers of keys and ciphertexts, from a seed and a purpose: ChaCha20 under a key that
// HKDF-SHA256 derives. Whoever does not know the seed cannot tell them from uniform ones. Private to secure/he.
#pragma once

#include <string_view>

#include "secure/crypto/stream_cipher.h"
#include "secure/he/big_number.h"

namespace coterie::he {

class SeedStream {
 public:
  SeedStream(const Secret<32>& seed, std::string_view purpose);

  void fill(std::span<uint8_t> out);
  // Exactly `bits` random bits.
  Big bits(size_t bits);
  // Uniform below `bound` but for 2^-128: bits of 128 more than the bound's, modulo the bound.
  Big below(const Big& bound, const BigContext& context);

 private:
  KeyStream stream_;
  uint64_t offset_ = 0;
  Bytes buffer_;
  size_t used_ = 0;
};

}  // namespace coterie::he
