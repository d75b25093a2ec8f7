// Whether whoever computes by a kernel says the same bytes as whoever computes by libcrypto.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "tests/support/matchers.h"
#include "tests/unit/secure/he/schemes.h"

namespace coterie::he {
namespace {

using test::KnownKey;
using test::Scheme;
using test::Side;

std::vector<PlainNumber> some_numbers(size_t count) {
  std::vector<PlainNumber> numbers;
  for (size_t i = 0; i < count; ++i) {
    numbers.push_back({i * i * i, i % 3 == 0 ? 0 : i % 3 == 1 ? ~uint64_t{0} : 77 * i});
  }
  return numbers;
}

Bytes encrypted(AdditiveKey& key, const std::vector<PlainNumber>& numbers) {
  Bytes bytes(numbers.size() * key.ciphertext_bytes());
  key.encrypt_each(numbers, bytes);
  return bytes;
}

// All that a party that sums can do with 19 ciphertexts, and what it says then.
Bytes computed(AdditiveCipher& cipher, ByteView ciphertexts) {
  auto terms = cipher.read(ciphertexts);
  EXPECT_OK(terms);
  std::vector<CiphertextList> lists(3);
  for (size_t i = 0; i < terms->size(); ++i) lists[i % 7 == 0 ? 0 : 2].push_back((*terms)[i].get());
  std::vector<CiphertextPtr> all = cipher.sums(lists);
  EXPECT_EQ(all[1], nullptr);
  all[1] = cipher.zero();
  for (size_t i = 0; i < 10; ++i) all.push_back(cipher.copy(*(*terms)[i]));
  std::vector<Ciphertext*> pointers;
  std::vector<CiphertextAddition> additions;
  for (size_t i = 0; i < all.size(); ++i) {
    pointers.push_back(all[i].get());
    additions.push_back({all[i].get(), (*terms)[18 - i].get()});
  }
  cipher.shift_left_each(pointers, 11);
  cipher.add_each(additions);
  cipher.rerandomize_each(pointers);
  // One alone goes on with the same randomness.
  cipher.add(*all[0], *all[1]);
  cipher.shift_left(*all[2], 3);
  cipher.rerandomize(*all[3]);
  Bytes said(all.size() * cipher.ciphertext_bytes());
  for (size_t i = 0; i < all.size(); ++i) {
    cipher.write(*all[i], std::span(said).subspan(i * cipher.ciphertext_bytes(), cipher.ciphertext_bytes()));
  }
  return said;
}

using SchemeByKernel = std::tuple<const Scheme*, LaneKernel>;

class CipherByLanes : public testing::TestWithParam<SchemeByKernel> {
 protected:
  static KnownKey single(size_t bits) { return std::get<0>(GetParam())->known(bits, 1, nullptr); }
  static KnownKey lanes(size_t bits) { return std::get<0>(GetParam())->known(bits, 1, &std::get<1>(GetParam())); }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CipherByLanes);

TEST_P(CipherByLanes, SaysTheSameBytesAsByLibcrypto) {
  for (const size_t bits : {kTestKeyBits, size_t{2048}}) {
    SCOPED_TRACE(bits);
    const Side single = this->single(bits).side, lanes = this->lanes(bits).side;
    const std::vector<PlainNumber> numbers = some_numbers(19);
    const Bytes ciphertexts = encrypted(*single.key, numbers);
    ASSERT_EQ(encrypted(*lanes.key, numbers), ciphertexts);
    // The next one's randomness is the next, however many were encrypted at once.
    EXPECT_EQ(encrypted(*lanes.key, some_numbers(2)), encrypted(*single.key, some_numbers(2)));
    const Bytes said = computed(*single.cipher, ciphertexts);
    ASSERT_EQ(computed(*lanes.cipher, ciphertexts), said);
    EXPECT_EQ(*lanes.key->decrypt(ciphertexts), *single.key->decrypt(ciphertexts));
    EXPECT_EQ(*lanes.key->decrypt(said), *single.key->decrypt(said));
    const auto opened = *lanes.key->decrypt(ciphertexts);
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(PlainNumber(opened[i].begin(), opened[i].begin() + 2), numbers[i]);
    }
  }
}

TEST_P(CipherByLanes, RefusesWhatLibcryptosWayRefuses) {
  const KnownKey known = single(kTestKeyBits);
  const Side &single = known.side, lanes = this->lanes(kTestKeyBits).side;
  const size_t bytes = single.key->ciphertext_bytes();
  const auto bytes_of = [&](const Big& number) {
    Bytes out(bytes);
    write_big(number, out);
    return out;
  };
  const Bytes good = encrypted(*single.key, some_numbers(9));
  for (const Bytes& bad : {Bytes(bytes, 0), Bytes(bytes, 0xff), bytes_of(known.modulus),
                           bytes_of(big_from(single.key->public_key())), bytes_of(known.prime), Bytes(3, 1)}) {
    Bytes both = good;
    both.insert(both.end(), bad.begin(), bad.end());
    const auto expected = single.cipher->read(both);
    ASSERT_FALSE(expected);
    EXPECT_ERROR(lanes.cipher->read(both), ErrorCode::malformed, expected.error().message());
    EXPECT_ERROR(lanes.key->decrypt(both), ErrorCode::malformed, expected.error().message());
  }
  EXPECT_TRUE(lanes.cipher->read({})->empty());
  EXPECT_TRUE(lanes.key->decrypt({})->empty());
}

INSTANTIATE_TEST_SUITE_P(, CipherByLanes,
                         testing::Combine(testing::Values(&test::kPaillierScheme, &test::kOkamotoUchiyamaScheme),
                                          testing::ValuesIn(lane_kernels().begin(), lane_kernels().end())),
                         [](const auto& one) {
                           std::string name = std::get<0>(one.param)->name + std::string("_") +
                                              std::string(std::get<1>(one.param).name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace coterie::he
