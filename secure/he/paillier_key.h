// The primes of a Paillier key. Private to secure/he and its tests: a job gets its keys from paillier.h, which refuses
// small ones.
#pragma once

#include "secure/crypto/secret.h"
#include "secure/he/key_prime.h"
#include "secure/he/lane_kernel.h"

namespace coterie::he {

struct PaillierKey {
  KeyPrime p;
  KeyPrime q;
  Big n;
};

// n has exactly `bits` bits. The same seed gives the same key.
PaillierKey generate_paillier_key(size_t bits, const Secret<32>& seed);

// As the functions of paillier.h, for keys of any size. Without a kernel libcrypto computes, to the same bytes.
std::unique_ptr<AdditiveKey> paillier_key_of(PaillierKey key, Secret<32> seed,
                                             const LaneKernel* kernel = lane_kernel());
std::unique_ptr<AdditiveCipher> paillier_cipher_of(Big n, Secret<32> seed, const LaneKernel* kernel = lane_kernel());

}  // namespace coterie::he
