#include "secure/he/paillier.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "secure/he/paillier_key.h"
#include "secure/he/pair_packing.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

Secret<32> seed_of(uint8_t value) {
  Secret<32> seed;
  seed.mutable_bytes()[0] = value;
  return seed;
}

PlainNumber limbs(int128 value) { return {static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64)}; }
int128 value_of(const PlainNumber& number) {
  for (size_t i = 2; i < number.size(); ++i) EXPECT_EQ(number[i], number[1] >> 63 != 0 ? ~uint64_t{0} : 0);
  return static_cast<int128>((static_cast<unsigned __int128>(number[1]) << 64) | number[0]);
}

Bytes encrypted(AdditiveKey& key, int128 value) {
  Bytes bytes(key.ciphertext_bytes());
  key.encrypt(limbs(value), bytes);
  return bytes;
}

int128 opened(const AdditiveKey& key, ByteView bytes) {
  auto numbers = key.decrypt(bytes);
  EXPECT_OK(numbers);
  return value_of(numbers->front());
}

// Decryption by the definition (section 4 of the paper): L(c^lambda mod n^2) / L((n + 1)^lambda mod n^2) mod n.
TEST(Paillier, DecryptsAsByTheDefinition) {
  he::PaillierKey key = he::generate_paillier_key(he::kTestKeyBits, seed_of(7));
  const he::BigContext context = he::big_context();
  const he::Big n = he::copy_of(key.n);
  const he::Big square = he::product(n, n, context);
  const he::Big lambda = he::product(he::minus_one(key.p.p), he::minus_one(key.q.p), context);
  const auto holder = he::paillier_key_of(std::move(key), seed_of(8));
  const auto l_of_power = [&](const he::Big& base) {
    he::Big power = he::big();
    he::must(BN_mod_exp(power.get(), base.get(), lambda.get(), square.get(), context.get()) == 1 &&
             BN_sub_word(power.get(), 1) == 1 &&
             BN_div(power.get(), nullptr, power.get(), n.get(), context.get()) == 1);
    return power;
  };
  he::Big g = he::copy_of(n);
  he::must(BN_add_word(g.get(), 1) == 1);
  he::Big inverse = he::big();
  he::must(BN_mod_inverse(inverse.get(), l_of_power(g).get(), n.get(), context.get()) != nullptr);
  Prng random(4);
  for (int i = 0; i < 20; ++i) {
    const auto value = static_cast<int128>(random.next() >> 1);
    const Bytes bytes = encrypted(*holder, value);
    he::Big m = l_of_power(he::big_from(bytes));
    he::must(BN_mod_mul(m.get(), m.get(), inverse.get(), n.get(), context.get()) == 1);
    EXPECT_EQ(BN_get_word(m.get()), static_cast<uint64_t>(value));
    EXPECT_EQ(opened(*holder, bytes), value);
  }
}

// p - 1 = 2 s t, and the generator has no smaller order.
TEST(Paillier, PrimesAreOfTheirForm) {
  const he::PaillierKey key = he::generate_paillier_key(he::kTestKeyBits, seed_of(9));
  const he::BigContext context = he::big_context();
  for (const he::KeyPrime* prime : {&key.p, &key.q}) {
    EXPECT_EQ(BN_check_prime(prime->p.get(), context.get(), nullptr), 1);
    EXPECT_EQ(BN_num_bits(prime->p.get()), static_cast<int>(he::kTestKeyBits / 2));
    he::Big half = he::minus_one(prime->p);
    he::must(BN_rshift1(half.get(), half.get()) == 1);
    he::Big power = he::big();
    he::must(BN_mod_exp(power.get(), prime->generator.get(), half.get(), prime->p.get(), context.get()) == 1);
    EXPECT_EQ(BN_is_one(power.get()), 0);
  }
  EXPECT_EQ(BN_num_bits(key.n.get()), static_cast<int>(he::kTestKeyBits));
}

}  // namespace
}  // namespace coterie
