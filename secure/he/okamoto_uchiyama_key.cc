#include "secure/he/okamoto_uchiyama_key.h"

namespace coterie::he {

OkamotoUchiyamaKey generate_okamoto_uchiyama_key(size_t bits, const Secret<32>& seed) {
  COT_ASSERT(bits >= kTestKeyBits);
  const size_t p_bits = (bits + 2) / 3;
  const BigContext context = big_context();
  SeedStream random(seed, "coterie okamoto-uchiyama key");
  for (;;) {
    OkamotoUchiyamaKey key;
    key.p = generate_key_prime(p_bits, random, context);
    key.q = generate_key_prime(bits - 2 * p_bits, random, context).p;
    key.n = product(product(key.p.p, key.p.p, context), key.q, context);
    // n has no factor in common with (p - 1)(q - 1): n-th powers then meet each residue class of p and q.
    if (BN_cmp(key.p.p.get(), key.q.get()) != 0 && BN_num_bits(key.n.get()) == static_cast<int>(bits) &&
        !divides(key.p.p, minus_one(key.q), context) && !divides(key.q, minus_one(key.p.p), context)) {
      return key;
    }
  }
}

}  // namespace coterie::he
