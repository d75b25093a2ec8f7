#include "secure/crypto/x25519.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tests/support/matchers.h"
#include "tests/unit/secure/vectors/x25519_vectors.h"

namespace coterie {
namespace {

Secret<32> secret_of(std::string_view hex) { return Secret<32>(std::span<const uint8_t, 32>(*from_hex(hex))); }

X25519PublicKey key_of(std::string_view hex) {
  X25519PublicKey key;
  std::ranges::copy(*from_hex(hex), key.bytes.begin());
  return key;
}

std::string product(Secret<32> scalar, const X25519PublicKey& point) {
  const Result<Secret<32>> shared = X25519KeyPair(std::move(scalar)).agree(point);
  EXPECT_OK(shared);
  return to_hex(shared->reveal());
}

TEST(X25519, GivesTheAnswersOfRfc7748) {
  for (const vectors::X25519& vector : vectors::kX25519) {
    EXPECT_EQ(product(secret_of(vector.scalar), key_of(vector.point)), vector.product);
  }
}

TEST(X25519, GivesTheAnswerOfRfc7748AfterAThousandRounds) {
  std::string k = "0900000000000000000000000000000000000000000000000000000000000000", u = k;
  for (int round = 1; round <= 1000; ++round) {
    u = std::exchange(k, product(secret_of(k), key_of(u)));
    if (round == 1) {
      EXPECT_EQ(k, vectors::kX25519Once);
    }
  }
  EXPECT_EQ(k, vectors::kX25519ThousandTimes);
}

TEST(X25519, LetsTheTwoOfRfc7748Agree) {
  const X25519KeyPair alice(secret_of(vectors::kAliceSecret)), bob(secret_of(vectors::kBobSecret));
  EXPECT_EQ(to_hex(alice.public_key().view()), vectors::kAlicePublic);
  EXPECT_EQ(to_hex(bob.public_key().view()), vectors::kBobPublic);
  EXPECT_EQ(to_hex(alice.agree(bob.public_key())->reveal()), vectors::kAliceAndBob);
  EXPECT_EQ(to_hex(bob.agree(alice.public_key())->reveal()), vectors::kAliceAndBob);
}

TEST(X25519, RefusesPointsOfSmallOrder) {
  const X25519KeyPair pair = X25519KeyPair::generate();
  for (const char* point : vectors::kSmallOrder) {
    EXPECT_ERROR(pair.agree(key_of(point)), ErrorCode::malformed, "small order") << point;
    EXPECT_FALSE(x25519_public_key_is_valid(key_of(point))) << point;
  }
}

TEST(X25519, KnowsOneEncodingOfEachKey) {
  EXPECT_TRUE(x25519_public_key_is_valid(key_of(vectors::kAlicePublic)));
  X25519PublicKey other_form = key_of(vectors::kAlicePublic);
  other_form.bytes[31] |= 0x80;
  EXPECT_FALSE(x25519_public_key_is_valid(other_form)) << "agrees to the same secret";
  EXPECT_EQ(product(secret_of(vectors::kBobSecret), other_form), vectors::kAliceAndBob);
  std::string p_plus = "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";
  for (const auto& [first, valid] : {std::pair("eb", true), {"ed", false}, {"f6", false}, {"ff", false}}) {
    EXPECT_EQ(x25519_public_key_is_valid(key_of(p_plus.replace(0, 2, first))), valid) << first;
  }
}

TEST(X25519, MakesFreshPairsThatAgree) {
  const X25519KeyPair a = X25519KeyPair::generate(), b = X25519KeyPair::generate();
  EXPECT_NE(a.public_key(), b.public_key());
  EXPECT_TRUE(x25519_public_key_is_valid(a.public_key()));
  EXPECT_EQ(to_hex(a.agree(b.public_key())->reveal()), to_hex(b.agree(a.public_key())->reveal()));
  EXPECT_EQ(X25519KeyPair(Secret<32>(a.secret().reveal())).public_key(), a.public_key())
      << "the secret is the whole pair";
}

}  // namespace
}  // namespace coterie
