#include "secure/he/paillier.h"

#include <gtest/gtest.h>

#include <set>

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

struct Pair {
  std::unique_ptr<AdditiveKey> key;
  std::unique_ptr<AdditiveCipher> cipher;
};

// A key as a job has, made once: a test program's slowest part.
Pair& shared_pair() {
  static Pair pair = [] {
    Pair made;
    made.key = make_paillier_key(PaillierBits::k2048, seed_of(1));
    made.cipher = std::move(*paillier_cipher(made.key->public_key(), seed_of(2)));
    return made;
  }();
  return pair;
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

CiphertextPtr read_one(const AdditiveCipher& cipher, ByteView bytes) {
  auto read = cipher.read(bytes);
  EXPECT_OK(read);
  return std::move(read->front());
}

Bytes written(const AdditiveCipher& cipher, const Ciphertext& ciphertext) {
  Bytes bytes(cipher.ciphertext_bytes());
  cipher.write(ciphertext, bytes);
  return bytes;
}

int128 opened(const AdditiveKey& key, ByteView bytes) {
  auto numbers = key.decrypt(bytes);
  EXPECT_OK(numbers);
  return value_of(numbers->front());
}

TEST(Paillier, SizesAreOfTheKey) {
  EXPECT_EQ(shared_pair().key->ciphertext_bytes(), 512u);
  EXPECT_EQ(shared_pair().cipher->ciphertext_bytes(), 512u);
  EXPECT_EQ(shared_pair().key->public_key().size(), 256u);
}

TEST(Paillier, SumsOfSignedNumbers) {
  Pair& p = shared_pair();
  Prng random(3);
  const int128 large = (int128{1} << 120) - 1;
  std::vector<int128> values = {0, 1, -1, large, -large, large, -large};
  for (int i = 0; i < 20; ++i) values.push_back(static_cast<int128>(static_cast<int64_t>(random.next())));
  int128 expected = values[0];
  CiphertextPtr sum = read_one(*p.cipher, encrypted(*p.key, values[0]));
  for (size_t i = 1; i < values.size(); ++i) {
    p.cipher->add(*sum, *read_one(*p.cipher, encrypted(*p.key, values[i])));
    expected += values[i];
    EXPECT_EQ(opened(*p.key, written(*p.cipher, *sum)), expected);
  }
}

TEST(Paillier, ShiftsPackPairs) {
  Pair& p = shared_pair();
  const PairPacking packing(52, p.key->plaintext_bits());
  std::vector<SumPair> pairs;
  for (size_t i = 0; i < packing.pairs_max(); ++i) {
    pairs.push_back({static_cast<int128>(i) * -(int128{1} << 40), 7 - static_cast<int128>(i)});
  }
  CiphertextPtr packed;
  for (size_t i = pairs.size(); i-- > 0;) {
    Bytes bytes(p.key->ciphertext_bytes());
    p.key->encrypt(packing.encode(std::span(&pairs[i], 1)), bytes);
    CiphertextPtr one = read_one(*p.cipher, bytes);
    if (packed) {
      p.cipher->shift_left(*packed, packing.pair_bits());
      p.cipher->add(*packed, *one);
    } else {
      packed = std::move(one);
    }
  }
  const auto numbers = p.key->decrypt(written(*p.cipher, *packed));
  ASSERT_OK(numbers);
  const auto back = packing.decode(numbers->front(), pairs.size());
  ASSERT_OK(back);
  EXPECT_EQ(*back, pairs);
}

TEST(Paillier, RerandomizedSumsLookNew) {
  Pair& p = shared_pair();
  CiphertextPtr sum = read_one(*p.cipher, encrypted(*p.key, -12345));
  std::set<Bytes> seen = {written(*p.cipher, *sum)};
  for (int i = 0; i < 5; ++i) {
    p.cipher->rerandomize(*sum);
    const Bytes bytes = written(*p.cipher, *sum);
    EXPECT_TRUE(seen.insert(bytes).second);
    EXPECT_EQ(opened(*p.key, bytes), -12345);
  }
}

TEST(Paillier, NoCiphertextComesTwice) {
  Pair& p = shared_pair();
  std::set<Bytes> seen;
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(seen.insert(encrypted(*p.key, 1)).second);
}

TEST(Paillier, SameSeedSameBytes) {
  const auto a = he::paillier_key_of(he::generate_paillier_key(he::kPaillierTestBits, seed_of(5)), seed_of(6));
  const auto b = he::paillier_key_of(he::generate_paillier_key(he::kPaillierTestBits, seed_of(5)), seed_of(6));
  EXPECT_EQ(a->public_key(), b->public_key());
  EXPECT_EQ(encrypted(*a, 9), encrypted(*b, 9));
}

// Decryption by the definition (section 4 of the paper): L(c^lambda mod n^2) / L((n + 1)^lambda mod n^2) mod n.
TEST(Paillier, DecryptsAsByTheDefinition) {
  he::PaillierKey key = he::generate_paillier_key(he::kPaillierTestBits, seed_of(7));
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
  const he::PaillierKey key = he::generate_paillier_key(he::kPaillierTestBits, seed_of(9));
  const he::BigContext context = he::big_context();
  for (const he::PaillierPrime* prime : {&key.p, &key.q}) {
    EXPECT_EQ(BN_check_prime(prime->p.get(), context.get(), nullptr), 1);
    EXPECT_EQ(BN_num_bits(prime->p.get()), static_cast<int>(he::kPaillierTestBits / 2));
    he::Big half = he::minus_one(prime->p);
    he::must(BN_rshift1(half.get(), half.get()) == 1);
    he::Big power = he::big();
    he::must(BN_mod_exp(power.get(), prime->generator.get(), half.get(), prime->p.get(), context.get()) == 1);
    EXPECT_EQ(BN_is_one(power.get()), 0);
  }
  EXPECT_EQ(BN_num_bits(key.n.get()), static_cast<int>(he::kPaillierTestBits));
}

}  // namespace
}  // namespace coterie
