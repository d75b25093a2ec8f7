#include "base/text/percent.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(PercentEncoded, KeepsWhatIsUnreservedAndNothingElse) {
  EXPECT_EQ(percent_encoded("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encoded(" +/*%\x7f\xff"), "%20%2B%2F%2A%25%7F%FF");
  EXPECT_EQ(percent_encoded("/a b/c+d", "/"), "/a%20b/c%2Bd");
  EXPECT_EQ(percent_encoded(std::string_view("\0", 1)), "%00");
  EXPECT_EQ(percent_encoded(""), "");
}

}  // namespace
}  // namespace coterie
