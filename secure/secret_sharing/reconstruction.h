// Survivors: whose shares of a secret there are, and the secret again.
//
// What depends on who they are alone (Lagrange's weights) is computed once and serves every secret whose shares come
// from the same ones. Sums of shares take constant time; the x of shares and who has lied are not secret.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "secure/secret_sharing/shamir.h"

namespace coterie {

class Survivors {
 public:
  // Whether a secret is the right one: equals a commitment, say.
  using Check = std::function<bool(const Secret<32>&)>;

  struct Corrected {
    Secret<32> secret;
    std::vector<uint8_t> bad;  // the x of shares that do not fit the others, ascending
  };

  // xs in the order in which shares will come. An error (malformed) unless there are `threshold` or more and they are
  // different numbers from 1..255; invalid_argument if the threshold is 0.
  static Result<Survivors> make(size_t threshold, std::vector<uint8_t> xs);

  // The most bad shares that correct() can do without: with s shares, (s - threshold) / 2.
  size_t bad_shares_max() const { return (xs_.size() - threshold_) / 2; }

  // From the first `threshold` shares. If one of them is not what was dealt, neither is the secret: the caller checks
  // it, and turns to correct(). An error (malformed) unless the shares are the survivors', in their order, of 32 bytes.
  Result<Secret<32>> reconstruct(std::span<const Share> shares) const;

  // From all shares, up to bad_shares_max() of which may be anything (Reed-Solomon decoding); names those.
  // Errors: malformed as above; data_loss if too many are bad, or if the secret that they agree on fails `check`: then
  // who dealt them lied. Where more than bad_shares_max() are bad, they may agree on a wrong secret: with `check` that
  // is an error for certain, and without it nearly always. Some milliseconds where shares are bad.
  Result<Corrected> correct(std::span<const Share> shares, const Check& check = {}) const;

 private:
  Survivors(size_t threshold, std::vector<uint8_t> xs);

  Status check_shares(std::span<const Share> shares) const;

  size_t threshold_;
  std::vector<uint8_t> xs_;
  std::vector<uint8_t> weights_;  // of the first `threshold` at 0
};

}  // namespace coterie
