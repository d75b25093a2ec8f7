#include "secure/he/key_arithmetic.h"

namespace coterie::he {

Garner::Garner(const Big& modulus_p, const Big& modulus_q, const BigContext& context)
    : modulus_p_(copy_of(modulus_p)),
      modulus_q_(copy_of(modulus_q)),
      inverse_(inverse_of(modulus_q, modulus_p, context)) {}

Big Garner::join(const Big& a, const Big& b, const BigContext& context) const {
  Big joined = secret_big();
  must(BN_mod_sub(joined.get(), a.get(), b.get(), modulus_p_.get(), context.get()) == 1 &&
       BN_mod_mul(joined.get(), joined.get(), inverse_.get(), modulus_p_.get(), context.get()) == 1 &&
       BN_mul(joined.get(), joined.get(), modulus_q_.get(), context.get()) == 1 &&
       BN_add(joined.get(), joined.get(), b.get()) == 1);
  return joined;
}

Big inverse_of(const Big& a, const Big& modulus, const BigContext& context) {
  Big result = secret_big();
  const Big secret = copy_of(modulus);
  BN_set_flags(secret.get(), BN_FLG_CONSTTIME);  // of an operand: libcrypto branches on no bit of either then
  must(BN_mod_inverse(result.get(), a.get(), secret.get(), context.get()) != nullptr);
  return result;
}

Big times_power(const Big& m, const Big& r, const Big& n, const Big& square, const BigContext& context) {
  // As r + n (m r mod n): half the length of the product itself.
  Big c = secret_big();
  must(BN_mod(c.get(), r.get(), n.get(), context.get()) == 1 &&
       BN_mod_mul(c.get(), c.get(), m.get(), n.get(), context.get()) == 1 &&
       BN_mul(c.get(), c.get(), n.get(), context.get()) == 1 &&
       BN_mod_add_quick(c.get(), c.get(), r.get(), square.get()) == 1);
  return c;
}

}  // namespace coterie::he
