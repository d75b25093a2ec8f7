// What everybody has of a key whose ciphertexts are numbers modulo n^2 (Paillier) or n (Okamoto and Uchiyama): n, and
// which bytes can be ciphertexts. Private to secure/he.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "secure/he/big_number.h"
#include "secure/he/lane_ring.h"

namespace coterie::he {

// Whoever sums rerandomizes by h^x and a random subset of so many residues (paillier.h).
inline constexpr size_t kSubsetResidues = 40;
inline constexpr size_t kStatisticalBits = 128;  // of x, beyond n's

struct CipherModulus {
  // Ciphertexts are numbers modulo n or n^2.
  CipherModulus(Big key, Modulo ciphertexts, const BigContext& context);

  size_t ciphertext_bytes() const { return (modulo == Modulo::n ? 1 : 2) * n_bytes; }
  // Magnitudes that are below half of the plaintexts' modulus: n, or p of n = p^2 q, which has a third of n's bits.
  size_t plaintext_bits() const { return (modulo == Modulo::n ? (8 * n_bytes + 2) / 3 : 8 * n_bytes) - 2; }

  // Several ciphertexts, one behind the other, from outside: malformed names the first one that is not in (0, ring).
  Result<std::vector<Big>> numbers(ByteView ciphertexts) const;
  // malformed names the first one that has a factor in common with n, unless `product`, which is that of all of them
  // modulo n but for a factor that is invertible, has none.
  Status check_invertible(const Big& product, std::span<const Big> numbers, const BigContext& context) const;

  // 1 + number n modulo n^2: the ciphertext of a number that needs no secret. Paillier's alone: whoever has no key of
  // Okamoto and Uchiyama knows no generator.
  Big open_ciphertext(const PlainNumber& number, const BigContext& context) const;

  Modulo modulo;
  Big n;
  Big ring;  // n or n^2
  size_t n_bytes;
};

// The error of check_invertible.
Error not_invertible(size_t ciphertext);

// n from the public key of another party. invalid_argument, with the scheme's name, unless it has 2048 or 3072 bits, is
// odd and no prime: whether it is a product of the scheme's form cannot be seen.
Result<Big> read_public_modulus(ByteView public_key, std::string_view scheme);

}  // namespace coterie::he
