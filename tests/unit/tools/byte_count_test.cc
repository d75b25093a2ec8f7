#include "tools/cli/byte_count.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

TEST(ByteCount, UnderstandsWhatPeopleWrite) {
  EXPECT_EQ(*parse_byte_count("4096"), 4096u);
  EXPECT_EQ(*parse_byte_count("64M"), 64u << 20);
  EXPECT_EQ(*parse_byte_count("1.5G"), 3ull << 29);
  EXPECT_EQ(*parse_byte_count("512 KiB"), 512u << 10);
  EXPECT_EQ(*parse_byte_count("100 B"), 100u);
}

TEST(ByteCount, RefusesTheRest) {
  for (const char* text : {"", "M", "0", "-1M", "64T", "64MM", "64Mi", "nan", "inf", "1e300", "6 4M", "2000000G"}) {
    const Result<uint64_t> bytes = parse_byte_count(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_THAT(bytes.error().message(), ::testing::EndsWith(std::string("is ") + text));
  }
}

}  // namespace
}  // namespace coterie::test
