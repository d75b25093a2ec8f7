// KeyHolder: what holders of Paillier's and of Okamoto and Uchiyama's keys have in common: the public side, and
// encryption in blocks of as many numbers as a kernel has lanes. Private to secure/he.
#pragma once

#include <string_view>

#include "secure/he/additive_cipher.h"
#include "secure/he/cipher_modulus.h"
#include "secure/he/seed_stream.h"

namespace coterie::he {

class KeyHolder : public AdditiveKey {
 public:
  size_t ciphertext_bytes() const final { return modulus_.ciphertext_bytes(); }
  size_t plaintext_bits() const final { return modulus_.plaintext_bits(); }
  Bytes public_key() const final;
  void encrypt(const PlainNumber& number, std::span<uint8_t> out) final { encrypt_each({&number, 1}, out); }
  void encrypt_each(std::span<const PlainNumber> numbers, std::span<uint8_t> out) final;

 protected:
  // `purpose`: of the random numbers of ciphertexts.
  KeyHolder(Big n, Modulo ciphertexts, const Secret<32>& seed, std::string_view purpose);

  // A ciphertext of each of at most kLanes numbers.
  virtual std::vector<Big> encrypt_block(std::span<const PlainNumber> numbers) = 0;

  BigContext context_;
  SeedStream random_;
  CipherModulus modulus_;
};

}  // namespace coterie::he
