#include "secure/he/paillier_key.h"

namespace coterie::he {

PaillierKey generate_paillier_key(size_t bits, const Secret<32>& seed) {
  COT_ASSERT(bits % 2 == 0 && bits >= kTestKeyBits);
  const BigContext context = big_context();
  SeedStream random(seed, "coterie paillier key");
  for (;;) {
    PaillierKey key;
    key.p = generate_key_prime(bits / 2, random, context);
    key.q = generate_key_prime(bits / 2, random, context);
    key.n = product(key.p.p, key.q.p, context);
    // n has no factor in common with (p - 1)(q - 1): n-th powers then meet each residue class of p and q.
    if (BN_cmp(key.p.p.get(), key.q.p.get()) != 0 && BN_num_bits(key.n.get()) == static_cast<int>(bits) &&
        !divides(key.p.p, minus_one(key.q.p), context) && !divides(key.q.p, minus_one(key.p.p), context)) {
      return key;
    }
  }
}

}  // namespace coterie::he
