// What the holder of a key computes with: its prime factors are known to it alone. Private to secure/he.
#pragma once

#include "secure/he/big_number.h"

namespace coterie::he {

// Numbers modulo P Q from their parts modulo P and Q, which have no common factor (Garner).
class Garner {
 public:
  Garner(const Big& modulus_p, const Big& modulus_q, const BigContext& context);

  // The number that is a modulo P and b modulo Q. Secret.
  Big join(const Big& a, const Big& b, const BigContext& context) const;

 private:
  Big modulus_p_;
  Big modulus_q_;
  Big inverse_;  // of Q modulo P
};

// 1 / a modulo `modulus`, which has no common factor with it. Secret.
Big inverse_of(const Big& a, const Big& modulus, const BigContext& context);

// (1 + m n) r modulo n^2, which is `square`, for m below n: (1 + n)^m r. Secret.
Big times_power(const Big& m, const Big& r, const Big& n, const Big& square, const BigContext& context);

}  // namespace coterie::he
