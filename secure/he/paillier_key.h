// The primes of a Paillier key. Private to secure/he and its tests: a job gets its keys from paillier.h, which refuses
// small ones.
#pragma once

#include "secure/crypto/secret.h"
#include "secure/he/big_number.h"
#include "secure/he/lane_kernel.h"

namespace coterie::he {

// A prime p = 2 s t + 1 with s and t prime, and a generator of its group. t has 64 bits and s all others: as the
// factors of p - 1 are known, that a number generates the group is certain, and s keeps p - 1 from being smooth
// (Pollard's p - 1 method would need s steps). With t as large as s a search takes a hundred times as long.
struct PaillierPrime {
  Big p;
  Big generator;
};

struct PaillierKey {
  PaillierPrime p;
  PaillierPrime q;
  Big n;
};

constexpr size_t kPaillierTestBits = 512;

// n has exactly `bits` bits. The same seed gives the same key.
PaillierKey generate_paillier_key(size_t bits, const Secret<32>& seed);

// As the functions of paillier.h, for keys of any size. Without a kernel libcrypto computes, to the same bytes.
std::unique_ptr<AdditiveKey> paillier_key_of(PaillierKey key, Secret<32> seed,
                                             const LaneKernel* kernel = lane_kernel());
std::unique_ptr<AdditiveCipher> paillier_cipher_of(Big n, Secret<32> seed, const LaneKernel* kernel = lane_kernel());

}  // namespace coterie::he
