// HalfPowers: powers modulo the square of a prime p of a key, which decryption and encryption are made of. Private to
// secure/he.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "secure/he/big_number.h"
#include "secure/he/lane_kernel.h"

namespace coterie::he {

class HalfPowers {
 public:
  virtual ~HalfPowers() = default;

  // generator^(p x) for each exponent x below p - 1: uniform n-th residues if the exponents are uniform.
  virtual std::vector<Big> residues(std::span<const Big> exponents, const BigContext& context) const = 0;
  // base^(p - 1) for each base below p^2. Constant time.
  virtual std::vector<Big> to_the_order(std::span<const Big> bases, const BigContext& context) const = 0;
};

// By libcrypto, one after the other. The table's entries that residues() reads show in the CPU's caches: whoever runs
// code on the party's own machine is inside its trust.
std::unique_ptr<HalfPowers> single_powers(const Big& p, const Big& generator, const BigContext& context);
// Eight at a time, all in constant time. `kernel` stays where it is as long as the object.
std::unique_ptr<HalfPowers> lane_powers(const Big& p, const Big& generator, const LaneKernel& kernel,
                                        const BigContext& context);

}  // namespace coterie::he
