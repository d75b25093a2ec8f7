#include "base/checksum/crc32c.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace coterie {
namespace {

TEST(Crc32c, IsThatOfTheStandard) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c(Bytes(32, 0)), 0x8a9136aau);
  EXPECT_EQ(crc32c(Bytes(32, 0xff)), 0x62a8ab43u);
}

TEST(Crc32c, IsTheSameByTablesAndInPieces) {
  Prng prng(7);
  Bytes bytes(301);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng.below(256));
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const ByteView all = ByteView(bytes).first(size);
    EXPECT_EQ(crc32c(all), crc32c_by_tables(all)) << size;
    EXPECT_EQ(crc32c(all), crc32c(all.subspan(size / 3), crc32c(all.first(size / 3)))) << size;
  }
}

}  // namespace
}  // namespace coterie
