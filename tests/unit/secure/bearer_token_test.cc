#include "secure/identity/bearer_token.h"

#include <gtest/gtest.h>

#include <set>

#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

TEST(BearerToken, IsPrefixedTextOf256RandomBits) {
  std::set<std::string> seen;
  for (int i = 0; i < 50; ++i) {
    const std::string token = generate_token();
    ASSERT_TRUE(token.starts_with("cot_")) << token;
    const Result<Bytes> bytes = from_base64url(std::string_view(token).substr(4));
    ASSERT_OK(bytes);
    EXPECT_EQ(bytes->size(), 32u);
    EXPECT_TRUE(seen.insert(token).second);
  }
}

TEST(BearerToken, IsStoredAsItsSha256) {
  EXPECT_EQ(token_digest("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_NE(token_digest("abc"), token_digest("abc "));
}

TEST(BearerToken, StandsBehindItsSchemeInAHeader) {
  EXPECT_EQ(bearer_token("Bearer cot_x"), "cot_x");
  EXPECT_EQ(bearer_token("Bearer "), "");
  for (const char* const none : {"", "Bearer", "bearer x", "Basic x", " Bearer x"})
    EXPECT_EQ(bearer_token(none), std::nullopt) << none;
  EXPECT_ERROR(Status(bearer_token_needed()), ErrorCode::unauthenticated, "Authorization: Bearer <token>");
}

}  // namespace
}  // namespace coterie
