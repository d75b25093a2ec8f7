// Paillier's cipher (P. Paillier, Public-Key Cryptosystems Based on Composite Degree Residuosity Classes, Eurocrypt
// 1999) with g = n + 1: c = (1 + m n) r^n mod n^2. Sums of plaintexts are products of ciphertexts.
//
// The holder of the key draws r^n as it is distributed, and faster than by a power of r: n-th residues are the product
// of two cyclic groups of orders p - 1 and q - 1, so two uniform exponents, two tables of powers and the Chinese
// remainder theorem give a uniform one. The security assumption stays Paillier's own.
//
// Whoever sums rerandomizes by h^x times a random subset of 40 n-th residues, h a random n-th residue and x 128 bits
// longer than n: within 2^-38 of a uniform n-th residue for keys made here (the odd part of the group is h's but for
// 2^-60, the subset covers the even part), for a fraction of the time of a power r^n.
#pragma once

#include "secure/crypto/secret.h"
#include "secure/he/additive_cipher.h"

namespace coterie {

// What a job may use; no smaller key can be asked for.
enum class PaillierBits : uint16_t { k2048 = 2048, k3072 = 3072 };

// A new key; takes a second at most. The same seed gives the same key and the same ciphertexts: use it for one job.
std::unique_ptr<AdditiveKey> make_paillier_key(PaillierBits bits, const Secret<32>& seed);

// What sums under the public key of another party. invalid_argument unless it has 2048 or 3072 bits and could be the
// product of two primes.
Result<std::unique_ptr<AdditiveCipher>> paillier_cipher(ByteView public_key, Secret<32> seed);

}  // namespace coterie
