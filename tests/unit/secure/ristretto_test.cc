#include "secure/crypto/ristretto.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/matchers.h"
#include "tests/unit/secure/vectors/ristretto_vectors.h"

namespace coterie {
namespace {

RistrettoElement element_of(std::string_view hex) {
  RistrettoElement element;
  std::ranges::copy(*from_hex(hex), element.bytes.begin());
  return element;
}

RistrettoElement from_hash(const Bytes& hash) { return ristretto_from_hash(std::span<const uint8_t, 64>(hash)); }

RistrettoScalar scalar_of(uint8_t number) {
  RistrettoScalar scalar;
  scalar.mutable_bytes()[0] = number;
  return scalar;
}

TEST(Ristretto, MultipliesAsRfc9496Does) {
  const RistrettoElement generator = element_of(vectors::kRistrettoMultiples[1]);
  for (uint8_t number = 1; number < 16; ++number) {
    const RistrettoElement expected = element_of(vectors::kRistrettoMultiples[number]);
    EXPECT_TRUE(ristretto_is_valid(expected));
    EXPECT_EQ(*ristretto_multiply_base(scalar_of(number)), expected) << int{number};
    EXPECT_EQ(*ristretto_multiply(scalar_of(number), generator), expected) << int{number};
  }
}

TEST(Ristretto, RefusesWhatRfc9496Refuses) {
  for (const vectors::BadRistretto& bad : vectors::kBadRistretto) {
    EXPECT_FALSE(ristretto_is_valid(element_of(bad.encoding))) << bad.why << ": " << bad.encoding;
    EXPECT_ERROR(ristretto_multiply(scalar_of(1), element_of(bad.encoding)), ErrorCode::malformed, "not an element");
  }
}

TEST(Ristretto, HashesAsRfc9496Does) {
  for (const vectors::RistrettoHash& vector : vectors::kRistrettoHashes) {
    EXPECT_EQ(to_hex(from_hash(*from_hex(vector.hash)).view()), vector.element);
  }
}

// RFC 9496 appendix A.3, first vector: the hash is SHA-512 of this text.
TEST(Ristretto, HashesAMessageInParts) {
  constexpr const char* kElement = "3066f82a1a747d45120d1740f14358531a8f04bbffe6a819f86dfe50f44a0a46";
  const std::string_view text = "Ristretto is traditionally a short shot of espresso coffee";
  EXPECT_EQ(to_hex(ristretto_of_message({as_bytes(text)}).view()), kElement);
  EXPECT_EQ(to_hex(ristretto_of_message({as_bytes(text.substr(0, 9)), {}, as_bytes(text.substr(9))}).view()), kElement);
}

TEST(Ristretto, ReducesAHashModuloTheOrder) {
  Bytes wide = *from_hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");  // the order
  wide.resize(64);
  wide[0] = static_cast<uint8_t>(wide[0] + 5);
  const RistrettoScalar five = ristretto_scalar_from_hash(std::span<const uint8_t, 64>(wide));
  EXPECT_TRUE(equal_in_constant_time(five.reveal(), scalar_of(5).reveal()));
}

TEST(Ristretto, GivesNoProductThatIsNeutral) {
  EXPECT_TRUE(ristretto_is_valid(RistrettoElement()));
  EXPECT_ERROR(ristretto_multiply(scalar_of(2), RistrettoElement()), ErrorCode::malformed, "neutral");
  EXPECT_ERROR(ristretto_multiply(scalar_of(0), from_hash(Bytes(64, 1))), ErrorCode::malformed, "neutral");
  EXPECT_ERROR(ristretto_multiply_base(scalar_of(0)), ErrorCode::invalid_argument, "zero");
}

// What blinding rests on.
TEST(Ristretto, IsBlindedInEitherOrder) {
  const RistrettoElement item = from_hash(Bytes(64, 7));
  const RistrettoScalar a = ristretto_random_scalar(), b = ristretto_random_scalar();
  EXPECT_FALSE(equal_in_constant_time(a.reveal(), b.reveal()));
  EXPECT_EQ(*ristretto_multiply(a, *ristretto_multiply(b, item)), *ristretto_multiply(b, *ristretto_multiply(a, item)));
  EXPECT_NE(*ristretto_multiply(a, item), item);
}

}  // namespace
}  // namespace coterie
