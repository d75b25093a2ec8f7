#include "secure/crypto/self_test.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

TEST(CryptoSelfTest, PassesHere) {
  EXPECT_OK(crypto_self_test());
  EXPECT_OK(crypto_self_test());
}

TEST(CryptoSelfTest, NamesThePrimitiveWhoseAnswerIsWrong) {
  EXPECT_GE(known_answers().size(), 10u);
  for (const KnownAnswer& right : known_answers()) {
    ASSERT_FALSE(right.compute().empty()) << right.primitive;
    EXPECT_OK(check(std::span(&right, 1)));
    std::string other = right.expected;
    other.back() = other.back() == '0' ? '1' : '0';
    const KnownAnswer wrong{right.primitive, right.compute, other.c_str()};
    EXPECT_ERROR(check(std::span(&wrong, 1)), ErrorCode::internal, right.primitive);
  }
}

}  // namespace
}  // namespace coterie
