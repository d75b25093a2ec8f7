// What everybody has of a Paillier key: n, n^2, and which bytes can be ciphertexts. Private to secure/he.
#pragma once

#include <span>
#include <vector>

#include "secure/he/big_number.h"

namespace coterie::he {

// Whoever sums rerandomizes by h^x and a random subset of so many residues (paillier.h).
inline constexpr size_t kSubsetResidues = 40;
inline constexpr size_t kStatisticalBits = 128;  // of x, beyond n's

struct PaillierModulus {
  PaillierModulus(Big key, const BigContext& context);

  size_t ciphertext_bytes() const { return 2 * n_bytes; }
  size_t plaintext_bits() const { return 8 * n_bytes - 2; }

  // Several ciphertexts, one behind the other, from outside: malformed names the first one that is not in (0, n^2).
  Result<std::vector<Big>> numbers(ByteView ciphertexts) const;
  // malformed names the first one that has a factor in common with n, unless `product`, which is that of all of them
  // modulo n but for a factor that is invertible, has none.
  Status check_invertible(const Big& product, std::span<const Big> numbers, const BigContext& context) const;

  Big n;
  Big square;
  size_t n_bytes;
};

// The error of check_invertible.
Error not_invertible(size_t ciphertext);

}  // namespace coterie::he
