// The additive ciphers, for tests that hold for each of them.
#pragma once

#include <memory>
#include <ostream>
#include <string>

#include "secure/he/additive_cipher.h"
#include "secure/he/lane_kernel.h"
#include "secure/he/okamoto_uchiyama.h"
#include "secure/he/okamoto_uchiyama_key.h"
#include "secure/he/paillier.h"
#include "secure/he/paillier_key.h"

namespace coterie::he::test {

inline Secret<32> seed_of(uint8_t value) {
  Secret<32> seed;
  seed.mutable_bytes()[0] = value;
  return seed;
}

struct Side {
  std::unique_ptr<AdditiveKey> key;
  std::unique_ptr<AdditiveCipher> cipher;
};

// Both ends of one key, and what tests of hostile ciphertexts make them of.
struct KnownKey {
  Side side;
  Big prime;
  Big modulus;  // of ciphertexts
};

struct Scheme {
  const char* name;
  size_t public_key_factor;                                          // bytes of a ciphertext by those of the public key
  size_t plaintext_bits;                                             // of a key of 2048 bits
  const char* range;                                                 // of ciphertexts
  std::unique_ptr<AdditiveKey> (*make_key)(const Secret<32>& seed);  // of 2048 bits
  Result<std::unique_ptr<AdditiveCipher>> (*cipher)(ByteView public_key, Secret<32> seed);
  // A key of any size, by its seed.
  KnownKey (*known)(size_t bits, uint8_t seed, const LaneKernel* kernel);
};

inline KnownKey known_paillier(size_t bits, uint8_t seed, const LaneKernel* kernel) {
  PaillierKey key = generate_paillier_key(bits, seed_of(seed));
  KnownKey known{.side = {}, .prime = copy_of(key.q.p), .modulus = product(key.n, key.n, big_context())};
  known.side.cipher = paillier_cipher_of(copy_of(key.n), seed_of(2), kernel);
  known.side.key = paillier_key_of(std::move(key), seed_of(3), kernel);
  return known;
}

inline KnownKey known_okamoto_uchiyama(size_t bits, uint8_t seed, const LaneKernel* kernel) {
  OkamotoUchiyamaKey key = generate_okamoto_uchiyama_key(bits, seed_of(seed));
  KnownKey known{.side = {}, .prime = copy_of(key.q), .modulus = copy_of(key.n)};
  known.side.cipher = okamoto_uchiyama_cipher_of(copy_of(key.n), seed_of(2), kernel);
  known.side.key = okamoto_uchiyama_key_of(std::move(key), seed_of(3), kernel);
  return known;
}

inline const Scheme kPaillierScheme = {
    .name = "Paillier",
    .public_key_factor = 2,
    .plaintext_bits = 2046,
    .range = "(0, n^2)",
    .make_key = [](const Secret<32>& seed) { return make_paillier_key(PaillierBits::k2048, seed); },
    .cipher = paillier_cipher,
    .known = known_paillier};
inline const Scheme kOkamotoUchiyamaScheme = {
    .name = "OkamotoUchiyama",
    .public_key_factor = 1,
    .plaintext_bits = 681,
    .range = "(0, n)",
    .make_key = [](const Secret<32>& seed) { return make_okamoto_uchiyama_key(OkamotoUchiyamaBits::k2048, seed); },
    .cipher = okamoto_uchiyama_cipher,
    .known = known_okamoto_uchiyama};

inline std::ostream& operator<<(std::ostream& out, const Scheme* scheme) { return out << scheme->name; }

}  // namespace coterie::he::test
