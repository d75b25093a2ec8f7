// PairPacking: pairs of signed integers (a gradient and a second derivative, or sums of them) in one plaintext, so that
// one homomorphic addition adds all of them.
//
// Pair k is first 2^W + second at bit 2 W k, W bits a number, without an offset: numbers may be negative, and borrow
// from the one above. Decoding takes balanced digits from the least up: a digit of 2^(W-1) or more is negative, and
// gives back what it borrowed.
#pragma once

#include <span>

#include "secure/he/additive_cipher.h"

namespace coterie {

__extension__ using int128 = __int128;

struct SumPair {
  int128 first = 0;
  int128 second = 0;
  friend bool operator==(const SumPair&, const SumPair&) = default;
  SumPair& operator+=(const SumPair& other) {
    first += other.first;
    second += other.second;
    return *this;
  }
  friend SumPair operator+(SumPair a, const SumPair& b) { return a += b; }
  friend SumPair operator-(const SumPair& a, const SumPair& b) { return {a.first - b.first, a.second - b.second}; }
};

class PairPacking {
 public:
  // `value_bits` W, at most 120: each number of a sum is in [-2^(W-1), 2^(W-1)).
  PairPacking(size_t value_bits, size_t plaintext_bits) : value_bits_(value_bits), plaintext_bits_(plaintext_bits) {}

  size_t pair_bits() const { return 2 * value_bits_; }
  size_t pairs_max() const { return plaintext_bits_ / pair_bits(); }

  // At most pairs_max() pairs.
  PlainNumber encode(std::span<const SumPair> pairs) const;
  // malformed if `number` has more than `count` pairs in it.
  Result<std::vector<SumPair>> decode(const PlainNumber& number, size_t count) const;

 private:
  size_t value_bits_;
  size_t plaintext_bits_;
};

}  // namespace coterie
