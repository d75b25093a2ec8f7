#include "secure/crypto/slow_hash.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

// The first from phc-winner-argon2's src/test.c; the others by its library (argon2id_hash_encoded of
// libargon2 0~20171227), salt 00..0f.
TEST(SlowHash, MatchesHashesOfTheReferenceImplementation) {
  constexpr const char* kPassword =
      "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
  constexpr const char* kCoterie =
      "$argon2id$v=19$m=8,t=1,p=1$AAECAwQFBgcICQoLDA0ODw$sRWyaA5Dj5DtbqOBzYUy+N3zx5fj5oivFoPzmHhoRVM";
  constexpr const char* kFull =
      "$argon2id$v=19$m=19456,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$ou11QaD6ZVu9tC/eFIZvsyjN4+aD2DQvnygfxPyhtLc";
  EXPECT_TRUE(slow_hash_matches(kPassword, "password"));
  EXPECT_TRUE(slow_hash_matches(kCoterie, "coterie"));
  EXPECT_TRUE(slow_hash_matches(kFull, "cot_password"));
  EXPECT_FALSE(slow_hash_matches(kPassword, "Password"));
  EXPECT_FALSE(slow_hash_matches(kCoterie, "coteri"));
  EXPECT_FALSE(slow_hash_matches(kFull, "password"));
}

TEST(SlowHash, IsOfTheCostItPromisesAndSaltedAnew) {
  const std::string hash = slow_hash("secret");
  EXPECT_TRUE(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$")) << hash;
  EXPECT_NE(slow_hash("secret"), hash);
  EXPECT_TRUE(slow_hash_matches(hash, "secret"));
  EXPECT_FALSE(slow_hash_matches(hash, "secreu"));
  EXPECT_FALSE(slow_hash_matches(hash, ""));
}

// What a database that somebody wrote to could hold.
TEST(SlowHash, RefusesWhatIsNoHashOrCostsTooMuch) {
  const std::string tail = "$AAECAwQFBgcICQoLDA0ODw$sRWyaA5Dj5DtbqOBzYUy+N3zx5fj5oivFoPzmHhoRVM";
  EXPECT_TRUE(slow_hash_matches("$argon2id$v=19$m=8,t=1,p=1" + tail, "coterie"));
  for (const char* head :
       {"", "$argon2id$v=19$", "$argon2id$v=19$m=", "$argon2id$v=19$m=8,t=", "$argon2id$v=19$m=0,t=1,p=1",
        "$argon2id$v=19$m=4294967295,t=1,p=1", "$argon2id$v=19$m=19457,t=1,p=1", "$argon2id$v=19$m=8,t=3,p=1",
        "$argon2id$v=19$m=99999999999999999999,t=1,p=1", "$argon2i$v=19$m=8,t=1,p=1", "$argon2id$v=16$m=8,t=1,p=1",
        "$argon2id$v=19$m=8,t=1,p=2", "$argon2id$v=19$t=1,m=8,p=1"}) {
    EXPECT_FALSE(slow_hash_matches(head + tail, "coterie")) << head;
    EXPECT_FALSE(slow_hash_matches(head, "coterie")) << head;
  }
  EXPECT_FALSE(slow_hash_matches("$argon2id$v=19$m=8,t=1,p=1" + tail + std::string(1000, 'A'), "coterie"));
}

}  // namespace
}  // namespace coterie
