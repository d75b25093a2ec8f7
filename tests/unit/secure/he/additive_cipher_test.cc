// What holds for each additive cipher.
#include "secure/he/additive_cipher.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "secure/he/pair_packing.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/he/schemes.h"

namespace coterie {
namespace {

using he::test::Scheme;
using he::test::seed_of;

class EachCipher : public testing::TestWithParam<const Scheme*> {
 protected:
  // A key as a job has, made once: a test program's slowest part.
  static he::test::Side& side() {
    static std::map<std::string, he::test::Side> made;
    const auto [side, is_new] = made.try_emplace(GetParam()->name);
    if (is_new) {
      side->second.key = GetParam()->make_key(seed_of(1));
      side->second.cipher = std::move(*GetParam()->cipher(side->second.key->public_key(), seed_of(2)));
    }
    return side->second;
  }
};

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

TEST_P(EachCipher, SizesAreOfTheKey) {
  EXPECT_EQ(side().key->public_key().size(), 256u);
  EXPECT_EQ(side().key->ciphertext_bytes(), 256u * GetParam()->public_key_factor);
  EXPECT_EQ(side().cipher->ciphertext_bytes(), side().key->ciphertext_bytes());
  EXPECT_EQ(side().key->plaintext_bits(), GetParam()->plaintext_bits);
  EXPECT_EQ(side().cipher->plaintext_bits(), GetParam()->plaintext_bits);
}

// The largest numbers that the size promises, of both signs, and their sum, which is 0.
TEST_P(EachCipher, OpensTheLargestNumbers) {
  const size_t bits = GetParam()->plaintext_bits;
  PlainNumber largest(bits / 64 + 1, ~uint64_t{0}), least(bits / 64 + 1, 0);
  largest.back() = (uint64_t{1} << bits % 64) - 1;
  least[0] = 1;
  least.back() = ~uint64_t{0} << bits % 64;
  Bytes both(2 * side().key->ciphertext_bytes());
  side().key->encrypt_each(std::vector{largest, least}, both);
  auto opened = side().key->decrypt(both);
  ASSERT_OK(opened);
  for (PlainNumber& number : *opened) number.resize(bits / 64 + 1, number.back());
  EXPECT_EQ((*opened)[0], largest);
  EXPECT_EQ((*opened)[1], least);
}

TEST_P(EachCipher, SumsOfSignedNumbers) {
  he::test::Side& p = side();
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

TEST_P(EachCipher, ShiftsPackPairs) {
  he::test::Side& p = side();
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

TEST_P(EachCipher, RerandomizedSumsLookNew) {
  he::test::Side& p = side();
  CiphertextPtr sum = read_one(*p.cipher, encrypted(*p.key, -12345));
  std::set<Bytes> seen = {written(*p.cipher, *sum)};
  for (int i = 0; i < 5; ++i) {
    p.cipher->rerandomize(*sum);
    const Bytes bytes = written(*p.cipher, *sum);
    EXPECT_TRUE(seen.insert(bytes).second);
    EXPECT_EQ(opened(*p.key, bytes), -12345);
  }
}

TEST_P(EachCipher, NoCiphertextComesTwice) {
  he::test::Side& p = side();
  std::set<Bytes> seen;
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(seen.insert(encrypted(*p.key, 1)).second);
}

TEST_P(EachCipher, SameSeedSameBytes) {
  const auto a = GetParam()->known(he::kTestKeyBits, 5, nullptr).side.key;
  const auto b = GetParam()->known(he::kTestKeyBits, 5, nullptr).side.key;
  EXPECT_EQ(a->public_key(), b->public_key());
  EXPECT_EQ(encrypted(*a, 9), encrypted(*b, 9));
}

// A key opens what another one has encrypted to something else, or takes it for no ciphertext.
TEST_P(EachCipher, AnotherKeyOpensNothing) {
  const auto other = GetParam()->known(he::kTestKeyBits, 5, nullptr).side.key;
  const auto own = GetParam()->known(he::kTestKeyBits, 6, nullptr).side.key;
  for (int i = 0; i < 5; ++i) {
    const auto numbers = own->decrypt(encrypted(*other, 7));
    if (numbers) EXPECT_NE(numbers->front()[0], 7u);
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, EachCipher,
                         testing::Values(&he::test::kPaillierScheme, &he::test::kOkamotoUchiyamaScheme),
                         [](const auto& one) { return std::string(one.param->name); });

}  // namespace
}  // namespace coterie
