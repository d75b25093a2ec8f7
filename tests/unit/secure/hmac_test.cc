#include "secure/crypto/hmac.h"

#include <gtest/gtest.h>

#include <string_view>

namespace coterie {
namespace {

struct Vector {
  Bytes key;
  Bytes message;
  std::string_view tag;
};

Bytes text(std::string_view words) { return Bytes(words.begin(), words.end()); }

// RFC 4231, test cases 1 to 4, 6 and 7 (5 is about cut tags).
TEST(Hmac, GivesTheAnswersOfRfc4231) {
  Bytes counting;
  for (uint8_t i = 1; i <= 25; ++i) counting.push_back(i);
  const Vector vectors[] = {
      {Bytes(20, 0x0b), text("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {text("Jefe"), text("what do ya want for nothing?"),
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {Bytes(20, 0xaa), Bytes(50, 0xdd), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {counting, Bytes(50, 0xcd), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {Bytes(131, 0xaa), text("Test Using Larger Than Block-Size Key - Hash Key First"),
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {Bytes(131, 0xaa),
       text("This is a test using a larger than block-size key and a larger than block-size data. The key "
            "needs to "
            "be hashed before being used by the HMAC algorithm."),
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
  };
  for (const Vector& vector : vectors) {
    EXPECT_EQ(hmac_sha256(vector.key, vector.message).hex(), vector.tag);
    EXPECT_EQ(to_hex(hmac_sha256_key(vector.key, vector.message).reveal()), vector.tag);
  }
}

TEST(Hmac, TakesAnEmptyKeyAndAnEmptyMessage) {  // Python: hmac.new(b"", b"", "sha256").hexdigest()
  EXPECT_EQ(hmac_sha256({}, {}).hex(), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

}  // namespace
}  // namespace coterie
