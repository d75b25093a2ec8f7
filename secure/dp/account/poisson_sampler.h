// Poisson sampling: every record by a coin of its own. The only maker of an event that may claim it (sampling.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "secure/dp/account/sampling.h"

namespace coterie {

class PoissonSampler {
 public:
  // The rate is rounded up to a multiple of 2^-53: what is claimed is what is drawn.
  static Result<PoissonSampler> create(double rate);

  // The numbers below `records` that take part in one release, ascending, by fresh coins of secure/crypto/random.h.
  // Nobody may see them, choose among them, or draw again because he did not like them.
  std::vector<uint64_t> draw(uint64_t records) const;

  const Sampling& claim() const { return claim_; }

 private:
  PoissonSampler(uint64_t threshold, Sampling claim) : threshold_(threshold), claim_(std::move(claim)) {}

  uint64_t threshold_;  // out of 2^53
  Sampling claim_;
};

// The indices of the coins whose high 53 bits are below `threshold`.
std::vector<uint64_t> heads_of(std::span<const uint64_t> coins, uint64_t threshold);

}  // namespace coterie
