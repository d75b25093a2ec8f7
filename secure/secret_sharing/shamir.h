// Shamir's secret sharing ("How to share a secret", CACM 1979) of 32 bytes over GF(2^8) modulo 0x11B.
//
// Each byte of the secret is the value at 0 of a polynomial of degree threshold - 1 whose other coefficients are
// random; share x is its value at x = 1..255. Any `threshold` shares give the secret (reconstruction.h); fewer say
// nothing at all about it, however long one computes. Time depends on threshold and count, not on secret or shares.
#pragma once

#include <functional>

#include "base/bytes.h"
#include "base/result.h"
#include "secure/crypto/random.h"
#include "secure/crypto/secret.h"

namespace coterie {

inline constexpr size_t kShareBytes = 32;
inline constexpr size_t kSharesMax = 255;  // the field's elements but 0, which is where the secret is

// One share, as a view of somebody's bytes. Those from outside may be anything.
struct Share {
  uint8_t x = 0;
  ByteView value;
};

// All shares of one secret, in locked memory. The one at index i has x = i + 1.
class Shares {
 public:
  size_t size() const { return values_.reveal().size() / kShareBytes; }
  Share operator[](size_t i) const {
    return {static_cast<uint8_t>(i + 1), values_.reveal().subspan(i * kShareBytes, kShareBytes)};
  }

 private:
  friend Result<Shares> split(const Secret<32>&, size_t, size_t, const std::function<void(std::span<uint8_t>)>&);
  explicit Shares(size_t count) : values_(count * kShareBytes) {}

  LockedBytes values_;
};

// Shares for x = 1..count, any `threshold` of which give the secret. `random` is asked once, for (threshold - 1) rows
// of 32 bytes: the coefficients of x, x^2 ... Other than the default in tests only. An error unless
// 1 <= threshold <= count <= kSharesMax.
Result<Shares> split(const Secret<32>& secret, size_t threshold, size_t count,
                     const std::function<void(std::span<uint8_t>)>& random = fill_random);

}  // namespace coterie
