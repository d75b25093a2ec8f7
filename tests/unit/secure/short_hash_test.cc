#include "secure/crypto/short_hash.h"

#include <gtest/gtest.h>

#include <numeric>

namespace coterie {
namespace {

// The example of the paper, appendix A: key 00..0f, message 00..0e.
TEST(ShortHash, IsSipHash24) {
  ShortHash::Key key;
  std::iota(key.begin(), key.end(), uint8_t{0});
  Bytes message(15);
  std::iota(message.begin(), message.end(), uint8_t{0});
  EXPECT_EQ(ShortHash(key)(message), 0xa129ca6149be45e5u);
}

TEST(ShortHash, IsAnotherInEachProcess) {
  const Bytes message(32);
  EXPECT_NE(ShortHash::fresh()(message), ShortHash::fresh()(message));
}

}  // namespace
}  // namespace coterie
