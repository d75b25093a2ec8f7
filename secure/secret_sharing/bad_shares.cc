#include "secure/secret_sharing/bad_shares.h"

#include <algorithm>

#include "secure/secret_sharing/gf256.h"
#include "secure/secret_sharing/gf256_rows.h"
#include "secure/secret_sharing/lagrange.h"

namespace coterie {
namespace {

using gf256::divide;
using gf256::kRowBytes;
using gf256::multiply;
using Polynomial = std::vector<uint8_t>;  // [k]: coefficient of z^k

// Syndrome l of each byte: sum of u_i x_i^l share_i, with u_i = 1 / prod_{j != i} (x_i - x_j). For a polynomial of
// degree d it is the leading coefficient of x^l times it, in Lagrange's form: 0 if l + d + 1 < shares. (MacWilliams and
// Sloane, "The theory of error-correcting codes", chapter 12: the dual of a generalised Reed-Solomon code.)
std::vector<uint8_t> syndromes_of(size_t count, const std::vector<uint8_t>& xs,
                                  const std::vector<const uint8_t*>& rows) {
  std::vector<uint8_t> numbers = leading_weights(xs);
  std::vector<uint8_t> syndromes(count * kRowBytes);
  for (size_t l = 0; l < count; ++l) {
    gf256::row_kernels().combine(numbers, rows.data(), &syndromes[l * kRowBytes]);
    for (size_t i = 0; i < xs.size(); ++i) numbers[i] = multiply(numbers[i], xs[i]);
  }
  return syndromes;
}

// The shortest recurrence that makes these numbers, as 1 + c_1 z + ... (Massey, "Shift-register synthesis and BCH
// decoding", 1969). If they are the syndromes of errors at X_1, X_2 ..., it is the product of 1 - X_j z.
Polynomial shortest_recurrence(const std::vector<uint8_t>& numbers) {
  Polynomial now(numbers.size() + 1), before(numbers.size() + 1);
  now[0] = before[0] = 1;
  uint8_t discrepancy_before = 1;
  size_t length = 0, since = 1;
  for (size_t n = 0; n < numbers.size(); ++n) {
    uint8_t discrepancy = numbers[n];
    for (size_t i = 1; i <= length; ++i) discrepancy ^= multiply(now[i], numbers[n - i]);
    if (discrepancy != 0) {
      const uint8_t factor = divide(discrepancy, discrepancy_before);
      Polynomial kept = now;
      for (size_t i = 0; i + since < now.size(); ++i) now[i + since] ^= multiply(factor, before[i]);
      if (2 * length <= n) {
        length = n + 1 - length;
        before = std::move(kept);
        discrepancy_before = discrepancy;
        since = 0;
      }
    }
    ++since;
  }
  now.resize(length + 1);
  return now;
}

// z^degree * polynomial(1 / z) at z.
uint8_t reversed_at(const Polynomial& polynomial, uint8_t z) {
  uint8_t sum = 0;
  for (const uint8_t coefficient : polynomial) sum = multiply(sum, z) ^ coefficient;
  return sum;
}

}  // namespace

std::optional<std::vector<size_t>> find_bad_shares(size_t threshold, size_t bad_max, const std::vector<uint8_t>& xs,
                                                   const std::vector<const uint8_t*>& rows) {
  const size_t count = xs.size() - threshold;
  const std::vector<uint8_t> syndromes = syndromes_of(count, xs, rows);
  std::vector<bool> is_bad(xs.size());
  // The 32 bytes are 32 codewords: a liar may change one byte alone, so that each is looked at.
  for (size_t byte = 0; byte < kRowBytes; ++byte) {
    std::vector<uint8_t> numbers(count);
    for (size_t l = 0; l < count; ++l) numbers[l] = syndromes[l * kRowBytes + byte];
    const Polynomial locator = shortest_recurrence(numbers);
    const size_t errors = locator.size() - 1;
    if (errors > bad_max) return std::nullopt;
    size_t found = 0;
    for (size_t i = 0; i < xs.size(); ++i) {
      if (errors == 0 || reversed_at(locator, xs[i]) != 0) continue;
      is_bad[i] = true;
      ++found;
    }
    // As many different roots as the recurrence is long: then errors there explain every syndrome, and all other
    // shares lie on one polynomial.
    if (found != errors) return std::nullopt;
  }
  std::vector<size_t> bad;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (is_bad[i]) bad.push_back(i);
  }
  return bad;
}

}  // namespace coterie
