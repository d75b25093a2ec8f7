// The primes of a key of Okamoto and Uchiyama. Private to secure/he and its tests: a job gets its keys from
// okamoto_uchiyama.h, which refuses small ones.
#pragma once

#include "secure/crypto/secret.h"
#include "secure/he/key_prime.h"
#include "secure/he/lane_kernel.h"

namespace coterie::he {

struct OkamotoUchiyamaKey {
  KeyPrime p;
  Big q;
  Big n;  // p^2 q
};

// n has exactly `bits` bits, p a third of them, rounded up. The same seed gives the same key.
OkamotoUchiyamaKey generate_okamoto_uchiyama_key(size_t bits, const Secret<32>& seed);

// As the functions of okamoto_uchiyama.h, for keys of any size. Without a kernel libcrypto computes, to the same bytes.
std::unique_ptr<AdditiveKey> okamoto_uchiyama_key_of(OkamotoUchiyamaKey key, Secret<32> seed,
                                                     const LaneKernel* kernel = lane_kernel());
std::unique_ptr<AdditiveCipher> okamoto_uchiyama_cipher_of(Big n, Secret<32> seed,
                                                           const LaneKernel* kernel = lane_kernel());

}  // namespace coterie::he
