#include "secure/crypto/hkdf.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "secure/crypto/mac.h"
#include "tests/support/throwing_asserts.h"
#include "tests/unit/secure/vectors/hkdf_vectors.h"

namespace coterie {
namespace {

Bytes expanded(const Secret<32>& key, ByteView info, size_t size) {
  Bytes out(size, 0xa5);
  hkdf_expand(key, info, out);
  return out;
}

TEST(Hkdf, GivesTheAnswersOfRfc5869) {
  for (const vectors::Hkdf& vector : vectors::kHkdf) {
    const Secret<32> key = hkdf_extract(*from_hex(vector.salt), *from_hex(vector.input_key));
    EXPECT_EQ(to_hex(key.reveal()), vector.extracted);
    const size_t size = std::string_view(vector.expanded).size() / 2;
    EXPECT_EQ(to_hex(expanded(key, *from_hex(vector.info), size)), vector.expanded);
    const Secret<32> both = hkdf<32>(*from_hex(vector.salt), *from_hex(vector.input_key), *from_hex(vector.info));
    EXPECT_EQ(to_hex(both.reveal()), std::string_view(vector.expanded).substr(0, 64));
  }
}

TEST(Hkdf, TakesNoSaltForASaltOfZeros) {
  const Bytes input = {1, 2, 3};
  EXPECT_TRUE(equal_in_constant_time(hkdf_extract({}, input).reveal(), hkdf_extract(Bytes(32), input).reveal()));
  EXPECT_FALSE(equal_in_constant_time(hkdf_extract({}, input).reveal(), hkdf_extract(Bytes(32, 1), input).reveal()));
}

TEST(Hkdf, GivesAsManyBytesAsAreAskedAndAlwaysTheSameFirstOnes) {
  const Secret<32> key = hkdf_extract({}, as_bytes("key"));
  const Bytes all = expanded(key, as_bytes("info"), kHkdfBytesMax);
  for (const size_t size : {0, 1, 31, 32, 33, 64, 1000, 8159}) {
    EXPECT_TRUE(std::ranges::equal(expanded(key, as_bytes("info"), size), ByteView(all).first(size))) << size;
  }
  const test::ThrowingAsserts throwing;
  EXPECT_THROW(expanded(key, {}, kHkdfBytesMax + 1), AssertionFailure);
}

}  // namespace
}  // namespace coterie
