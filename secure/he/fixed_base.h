// FixedBase: powers of one base by table. base^x is a product of one table entry a window of x: a fraction of the
// multiplications of a square-and-multiply, and no squarings (Brickell et al., Eurocrypt 1992). Private to secure/he.
//
// Which entries are read depends on the exponent, and the CPU's caches see that: whoever runs code on the party's own
// machine is inside its trust.
#pragma once

#include <vector>

#include "secure/he/big_number.h"

namespace coterie::he {

class FixedBase {
 public:
  // `exponent_bits`: of the largest exponent. `modulus_form` outlives the table.
  FixedBase(const Big& base, size_t exponent_bits, size_t window_bits, const BN_MONT_CTX* modulus_form,
            const BigContext& context);

  // base^exponent, in Montgomery form.
  Big power(const Big& exponent, const BigContext& context) const;

 private:
  const BN_MONT_CTX* form_;
  size_t window_bits_;
  std::vector<std::vector<Big>> windows_;  // [window][digit]
};

}  // namespace coterie::he
