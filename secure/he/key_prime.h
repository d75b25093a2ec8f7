// The primes that keys are made of. Private to secure/he and its tests.
#pragma once

#include "secure/he/big_number.h"
#include "secure/he/seed_stream.h"

namespace coterie::he {

// A prime p = 2 s t + 1 with s and t prime, and a generator of its group. t has 64 bits and s all others: as the
// factors of p - 1 are known, that a number generates the group is certain, and s keeps p - 1 from being smooth
// (Pollard's p - 1 method would need s steps). With t as large as s a search takes a hundred times as long.
struct KeyPrime {
  Big p;
  Big generator;
};

constexpr size_t kTestKeyBits = 512;  // of keys for tests, the smallest that are made

// p has exactly `bits` bits, its two highest ones set.
KeyPrime generate_key_prime(size_t bits, SeedStream& random, const BigContext& context);

bool divides(const Big& divisor, const Big& number, const BigContext& context);

}  // namespace coterie::he
