#include "secure/he/okamoto_uchiyama.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "secure/he/key_arithmetic.h"
#include "secure/he/okamoto_uchiyama_key.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/he/schemes.h"

namespace coterie::he {
namespace {

using test::seed_of;

// Modulo n.
Big power(const Big& base, const Big& exponent, const Big& n) {
  Big result = big();
  must(BN_mod_exp(result.get(), base.get(), exponent.get(), n.get(), big_context().get()) == 1);
  return result;
}

struct Definition {
  explicit Definition(const OkamotoUchiyamaKey& key)
      : p(copy_of(key.p.p)), n(copy_of(key.n)), square(product(p, p, context)) {
    // Any g will do that is no n-th residue modulo p^2.
    must(BN_set_word(g.get(), 5) == 1);
    factor = inverse_of(l_of_power(g), p, context);
  }
  // L(c^(p - 1) mod p^2), L(x) = (x - 1) / p.
  Big l_of_power(const Big& c) const {
    Big x = power(c, minus_one(p), square);
    must(BN_sub_word(x.get(), 1) == 1 && BN_div(x.get(), nullptr, x.get(), p.get(), context.get()) == 1);
    return x;
  }
  // Section 2 of the paper, for its g.
  Big decrypt(const Big& c) const {
    Big m = l_of_power(c);
    must(BN_mod_mul(m.get(), m.get(), factor.get(), p.get(), context.get()) == 1);
    return m;
  }

  BigContext context = big_context();
  Big p, n, square;
  Big g = big();
  Big factor;
};

TEST(OkamotoUchiyama, TheKeyIsAPrimesSquareTimesAPrime) {
  const OkamotoUchiyamaKey key = generate_okamoto_uchiyama_key(kTestKeyBits, seed_of(4));
  const BigContext context = big_context();
  for (const Big* prime : {&key.p.p, &key.q}) EXPECT_EQ(BN_check_prime(prime->get(), context.get(), nullptr), 1);
  EXPECT_EQ(BN_num_bits(key.n.get()), static_cast<int>(kTestKeyBits));
  EXPECT_EQ(BN_num_bits(key.p.p.get()), 171);
  EXPECT_EQ(BN_cmp(product(product(key.p.p, key.p.p, context), key.q, context).get(), key.n.get()), 0);
}

// A ciphertext of the paper's own, g^m h^r with h = g^n, opens as the paper says; the holder's g is another one, so
// that it opens to a constant multiple.
TEST(OkamotoUchiyama, OpensByTheDefinitionUpToTheChoiceOfG) {
  OkamotoUchiyamaKey key = generate_okamoto_uchiyama_key(kTestKeyBits, seed_of(7));
  const Definition definition(key);
  const auto holder = okamoto_uchiyama_key_of(std::move(key), seed_of(8));
  const auto opened = [&](const Big& c) {
    Bytes bytes(holder->ciphertext_bytes());
    write_big(c, bytes);
    return residue_of(holder->decrypt(bytes)->front(), definition.p);
  };
  const Big of_g = opened(definition.g);
  Prng random(4);
  for (int i = 0; i < 20; ++i) {
    Big m = big(), r = big();
    must(BN_set_word(m.get(), random.next()) == 1 && BN_set_word(r.get(), random.next()) == 1);
    const Big h = power(definition.g, definition.n, definition.n);
    Big c = power(definition.g, m, definition.n);
    must(BN_mod_mul(c.get(), c.get(), power(h, r, definition.n).get(), definition.n.get(), definition.context.get()) ==
         1);
    EXPECT_EQ(BN_cmp(definition.decrypt(c).get(), m.get()), 0);
    Big expected = big();
    must(BN_mod_mul(expected.get(), of_g.get(), m.get(), definition.p.get(), definition.context.get()) == 1);
    EXPECT_EQ(BN_cmp(opened(c).get(), expected.get()), 0);
  }
}

// Why it is for parties that follow the protocol alone: whoever has a sum above p opened learns p.
TEST(OkamotoUchiyama, AnOpenedCiphertextOfChoiceGivesTheKeyAway) {
  OkamotoUchiyamaKey key = generate_okamoto_uchiyama_key(kTestKeyBits, seed_of(9));
  const BigContext context = big_context();
  const Big n = copy_of(key.n), p = copy_of(key.p.p);
  const auto holder = okamoto_uchiyama_key_of(std::move(key), seed_of(10));
  Bytes bytes(holder->ciphertext_bytes());
  holder->encrypt({1, 0}, bytes);
  // 2^200 times the plaintext 1, beyond p's 171 bits.
  Big factor = big(), divisor = big();
  must(BN_set_bit(factor.get(), 200) == 1);
  write_big(power(big_from(bytes), factor, n), bytes);
  const Big opened = residue_of(holder->decrypt(bytes)->front(), n);
  must(BN_sub(factor.get(), factor.get(), opened.get()) == 1 &&
       BN_gcd(divisor.get(), factor.get(), n.get(), context.get()) == 1);
  EXPECT_EQ(BN_is_one(divisor.get()), 0);
  Big rest = big();
  must(BN_mod(rest.get(), divisor.get(), p.get(), context.get()) == 1);
  EXPECT_NE(BN_is_zero(rest.get()), 0);
}

}  // namespace
}  // namespace coterie::he
