#include "secure/crypto/ristretto_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "secure/crypto/ristretto_kernel.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/vectors/ristretto_vectors.h"

namespace coterie {
namespace {

RistrettoElement element_of(std::string_view hex) {
  RistrettoElement element;
  std::ranges::copy(*from_hex(hex), element.bytes.begin());
  return element;
}
RistrettoScalar scalar_of(std::string_view hex) {
  return RistrettoScalar(std::span<const uint8_t, 32>(*from_hex(hex)));
}
RistrettoScalar scalar_of(uint8_t number) {
  RistrettoScalar scalar;
  scalar.mutable_bytes()[0] = number;
  return scalar;
}
RistrettoHash random_hash(Prng& random) {
  RistrettoHash hash;
  for (uint8_t& byte : hash) byte = static_cast<uint8_t>(random.next());
  return hash;
}
std::vector<RistrettoElement> random_elements(Prng& random, size_t count) {
  std::vector<RistrettoElement> elements;
  for (size_t i = 0; i < count; ++i) elements.push_back(ristretto_from_hash(random_hash(random)));
  return elements;
}

class EachRistrettoKernel : public testing::TestWithParam<RistrettoKernel> {
 protected:
  std::vector<RistrettoElement> products(const RistrettoScalar& scalar, const std::vector<RistrettoElement>& elements) {
    std::vector<RistrettoElement> made(elements.size());
    EXPECT_EQ(GetParam().multiply(scalar, elements, made), elements.size());
    return made;
  }
};

TEST_P(EachRistrettoKernel, MultipliesAsRfc9496Does) {
  for (uint8_t factor = 1; factor < 16; ++factor) {
    std::vector<RistrettoElement> multiples, expected;
    for (size_t i = 1; i * factor < std::size(vectors::kRistrettoMultiples); ++i) {
      multiples.push_back(element_of(vectors::kRistrettoMultiples[i]));
      expected.push_back(element_of(vectors::kRistrettoMultiples[i * factor]));
    }
    EXPECT_EQ(products(scalar_of(factor), multiples), expected) << int{factor};
  }
}

TEST_P(EachRistrettoKernel, HashesAsRfc9496Does) {
  std::vector<RistrettoHash> hashes;
  std::vector<RistrettoElement> expected;
  for (const vectors::RistrettoHash& vector : vectors::kRistrettoHashes) {
    std::ranges::copy(*from_hex(vector.hash), hashes.emplace_back().begin());
    expected.push_back(element_of(vector.element));
  }
  std::vector<RistrettoElement> made(hashes.size());
  EXPECT_EQ(GetParam().multiply_hashes(scalar_of(uint8_t{1}), hashes, made), hashes.size());
  EXPECT_EQ(made, expected);
}

// Numbers at the edges of limbs, of the field and of its half, in either half of a hash: by libsodium.
TEST_P(EachRistrettoKernel, HashesWhatIsSpecial) {
  std::vector<std::array<uint8_t, 32>> halves;
  const std::array<uint8_t, 32> p = element_of(vectors::kBadRistretto[3].encoding).bytes;
  for (int step = -2; step <= 2; ++step) {
    halves.push_back(p);
    halves.back()[0] = static_cast<uint8_t>(halves.back()[0] + step);
    halves.push_back({});
    halves.back()[0] = static_cast<uint8_t>(step);
    if (step < 0) std::fill(halves.back().begin() + 1, halves.back().end(), uint8_t{0xff});
  }
  for (const size_t bit : {50u, 51u, 101u, 102u, 152u, 153u, 203u, 204u, 254u, 255u}) {
    halves.push_back({});
    halves.back()[bit / 8] = static_cast<uint8_t>(1u << (bit % 8));
  }
  // Each with itself and with another one; those whose element is neutral are for the next lines.
  std::vector<RistrettoHash> hashes, neutral;
  for (size_t i = 0; i < halves.size(); ++i) {
    for (const size_t other : {i, (7 * i + 3) % halves.size()}) {
      RistrettoHash hash;
      std::ranges::copy(halves[i], hash.begin());
      std::ranges::copy(halves[other], hash.begin() + 32);
      (ristretto_from_hash(hash) == RistrettoElement() ? neutral : hashes).push_back(hash);
    }
  }
  const RistrettoScalar scalar = scalar_of("0bfd1f3a9c64c29f2a5d91d0b1fb3f93fbb1a90d36f0e9e7b0a9f2c4e8d70c05");
  std::vector<RistrettoElement> made(hashes.size());
  ASSERT_EQ(GetParam().multiply_hashes(scalar, hashes, made), hashes.size());
  for (size_t i = 0; i < hashes.size(); ++i) {
    EXPECT_EQ(made[i], *ristretto_multiply(scalar, ristretto_from_hash(hashes[i]))) << to_hex(hashes[i]);
  }
  ASSERT_FALSE(neutral.empty());
  hashes[9] = neutral[0];
  EXPECT_EQ(GetParam().multiply_hashes(scalar, hashes, made), 9u);
}

TEST_P(EachRistrettoKernel, MultipliesByScalarsOfAllForms) {
  Prng random(1);
  const std::vector<RistrettoElement> elements = random_elements(random, 9);
  std::vector<RistrettoScalar> scalars;
  for (const uint8_t number : {1, 2, 7, 8, 9, 15, 16, 17, 127, 128, 136, 255}) scalars.push_back(scalar_of(number));
  for (const char* hex : {"ecd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010",     // the order - 1
                          "8888888888888888888888888888888888888888888888888888888888888808",     // digits that carry
                          "7777777777777777777777777777777777777777777777777777777777777707",     // and that do not
                          "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff0f",     // and all of them
                          "0000000000000000000000000000000000000000000000000000000000000010"}) {  // the highest alone
    scalars.push_back(scalar_of(hex));
  }
  for (int i = 0; i < 10; ++i) scalars.push_back(ristretto_scalar_from_hash(random_hash(random)));
  for (const RistrettoScalar& scalar : scalars) {
    const std::vector<RistrettoElement> made = products(scalar, elements);
    for (size_t i = 0; i < elements.size(); ++i) {
      EXPECT_EQ(made[i], *ristretto_multiply(scalar, elements[i])) << to_hex(scalar.reveal());
    }
  }
}

TEST_P(EachRistrettoKernel, MultipliesAnyNumberOfElements) {
  Prng random(2);
  const RistrettoScalar scalar = ristretto_scalar_from_hash(random_hash(random));
  for (size_t count = 0; count < 19; ++count) {
    const std::vector<RistrettoElement> elements = random_elements(random, count), made = products(scalar, elements);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(made[i], *ristretto_multiply(scalar, elements[i]));
  }
}

TEST_P(EachRistrettoKernel, NamesThePlaceOfWhatRfc9496Refuses) {
  Prng random(3);
  const std::vector<RistrettoElement> good = random_elements(random, 19);
  std::vector<RistrettoElement> made(good.size()), bad = {RistrettoElement()};
  for (const vectors::BadRistretto& one : vectors::kBadRistretto) bad.push_back(element_of(one.encoding));
  // Each good one's other forms: negated, and with the highest bit set.
  for (const RistrettoElement& one : good) {
    bad.push_back(one);
    bad.back().bytes[31] |= 0x80;
    bad.push_back(one);
    unsigned borrow = 0;
    const std::array<uint8_t, 32> p = element_of(vectors::kBadRistretto[3].encoding).bytes;
    for (size_t i = 0; i < 32; ++i) {
      const unsigned difference = 256u + p[i] - one.bytes[i] - borrow;
      bad.back().bytes[i] = static_cast<uint8_t>(difference);
      borrow = difference < 256 ? 1 : 0;
    }
  }
  const RistrettoScalar scalar = ristretto_scalar_from_hash(random_hash(random));
  for (size_t i = 0; i < bad.size(); ++i) {
    std::vector<RistrettoElement> elements = good;
    const size_t place = i % good.size();
    elements[place] = bad[i];
    elements[good.size() - 1] = bad[0];  // the first counts
    EXPECT_EQ(GetParam().multiply(scalar, elements, made), place) << to_hex(bad[i].view());
    if (i > 0) EXPECT_FALSE(ristretto_is_valid(bad[i])) << to_hex(bad[i].view());
    EXPECT_ERROR(ristretto_multiply(scalar, bad[i]), ErrorCode::malformed, "not an element");
  }
  EXPECT_EQ(GetParam().multiply(RistrettoScalar(), good, made), 0u);
}

TEST_P(EachRistrettoKernel, PassesItsSelfTest) { EXPECT_OK(ristretto_self_test(GetParam())); }

INSTANTIATE_TEST_SUITE_P(, EachRistrettoKernel,
                         testing::ValuesIn(ristretto_kernels().begin(), ristretto_kernels().end()),
                         [](const auto& one) {
                           std::string name(one.param.name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Kernels that are wrong in one thing each.
const RistrettoKernel& right() { return ristretto_kernels().front(); }
size_t wrong_in_a_lane(const RistrettoScalar& scalar, std::span<const RistrettoElement> elements,
                       std::span<RistrettoElement> products) {
  const size_t good = right().multiply(scalar, elements, products);
  if (good > 6) products[6].bytes[31] ^= 1;
  return good;
}
size_t takes_the_highest_bit(const RistrettoScalar& scalar, std::span<const RistrettoElement> elements,
                             std::span<RistrettoElement> products) {
  std::vector<RistrettoElement> cleared(elements.begin(), elements.end());
  for (RistrettoElement& one : cleared) one.bytes[31] &= 0x7f;
  return right().multiply(scalar, cleared, products);
}
size_t wrong_hashes(const RistrettoScalar& scalar, std::span<const RistrettoHash> hashes,
                    std::span<RistrettoElement> products) {
  const size_t good = right().multiply_hashes(scalar, hashes, products);
  std::swap(products[0], products[1]);
  return good;
}

TEST(RistrettoKernels, OnesThatAreWrongAreNamedAndNotChosen) {
  const RistrettoKernel in_a_lane{"lane", wrong_in_a_lane, right().multiply_hashes},
      bit{"bit", takes_the_highest_bit, right().multiply_hashes}, hash{"hash", right().multiply, wrong_hashes};
  EXPECT_ERROR(ristretto_self_test(in_a_lane), ErrorCode::internal, "kernel lane gets products wrong");
  EXPECT_ERROR(ristretto_self_test(bit), ErrorCode::internal, "kernel bit gets what is refused (e2f2ae0a");
  EXPECT_ERROR(ristretto_self_test(hash), ErrorCode::internal, "kernel hash gets products of hashes wrong");
  const std::vector<RistrettoKernel> all = {in_a_lane, bit, hash, right(), hash};
  EXPECT_EQ(&choose_ristretto_kernel(all), &all[3]);
  EXPECT_EQ(&choose_ristretto_kernel(std::span(all).first(2)), &all[1]);  // the last one is the oracle's place
}

TEST(RistrettoKernels, EndWithTheOracle) { EXPECT_EQ(ristretto_kernels().back().name, "libsodium"); }

TEST(RistrettoBatch, MultipliesAsOneByOne) {
  Prng random(4);
  const RistrettoScalar scalar = ristretto_scalar_from_hash(random_hash(random));
  std::vector<RistrettoHash> hashes;
  for (int i = 0; i < 20; ++i) hashes.push_back(random_hash(random));
  std::vector<RistrettoElement> once(20), twice(20);
  EXPECT_EQ(ristretto_multiply_hashes(scalar, hashes, once), 20u);
  EXPECT_EQ(ristretto_multiply_each(scalar, once, twice), 20u);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(once[i], *ristretto_multiply(scalar, ristretto_from_hash(hashes[i])));
    EXPECT_EQ(twice[i], *ristretto_multiply(scalar, once[i]));
  }
}

}  // namespace
}  // namespace coterie
