#include "tools/data/gzip.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/unit/tools/stored_gzip.h"

namespace coterie {
namespace {

using test::stored_gzip;

Bytes pattern(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
  return bytes;
}

TEST(Gzip, UnpacksWhatWasPacked) {
  for (const size_t size : {0u, 1u, 1000u, 65'535u, 65'536u, 300'000u}) {
    const auto unpacked = gunzip(stored_gzip(pattern(size)), size);
    ASSERT_OK(unpacked);
    EXPECT_EQ(*unpacked, pattern(size)) << size;
  }
}

TEST(Gzip, UnpacksAllMembersOfAFile) {
  Bytes file = stored_gzip(pattern(10));
  const Bytes second = stored_gzip(pattern(5));
  file.insert(file.end(), second.begin(), second.end());
  const auto unpacked = gunzip(file, 15);
  ASSERT_OK(unpacked);
  EXPECT_EQ(unpacked->size(), 15u);
}

TEST(Gzip, RefusesAFileCutShortAtEveryByte) {
  const Bytes file = stored_gzip(pattern(40));
  for (size_t size = 0; size < file.size(); ++size) {
    const auto unpacked = gunzip(ByteView(file).first(size), 1000);
    ASSERT_FALSE(unpacked) << size;
    EXPECT_EQ(unpacked.error().code(), ErrorCode::malformed) << size;
  }
}

TEST(Gzip, RefusesEveryDamagedByteThatItsChecksumsCover) {
  const Bytes file = stored_gzip(pattern(40));
  // Behind the head, which says when and by whom it was written, and five bits of padding.
  for (size_t at = 11; at < file.size(); ++at) {
    Bytes damaged = file;
    damaged[at] ^= 0x40;
    EXPECT_FALSE(gunzip(damaged, 1000)) << at;
  }
}

TEST(Gzip, RefusesBytesBehindTheEnd) {
  Bytes file = stored_gzip(pattern(4));
  file.push_back(0);
  EXPECT_FALSE(gunzip(file, 1000));
}

TEST(Gzip, StopsAtTheLimitNotOneByteBefore) {
  for (const size_t size : {1u, 1000u, 262'144u, 262'145u}) {
    EXPECT_OK(gunzip(stored_gzip(pattern(size)), size));
    EXPECT_ERROR(gunzip(stored_gzip(pattern(size)), size - 1), ErrorCode::too_large, "unpacks to more than");
  }
}

TEST(Gzip, LeavesOtherFilesAsTheyAre) {
  EXPECT_ERROR(gunzip(pattern(40), 1000), ErrorCode::malformed, "is not a gzip file");
  const auto kept = gunzip_if_packed(pattern(40), 10);
  ASSERT_OK(kept);
  EXPECT_EQ(*kept, pattern(40));
}

}  // namespace
}  // namespace coterie
