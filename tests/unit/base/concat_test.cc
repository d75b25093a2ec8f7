#include "base/text/concat.h"

#include <gtest/gtest.h>

#include <limits>

namespace coterie {
namespace {

TEST(Concat, JoinsTextsAndNumbers) {
  const std::string name = "conv1", nothing;
  EXPECT_EQ(concat({"op ", name, std::string_view(" has "), 3u, " inputs", nothing}), "op conv1 has 3 inputs");
  EXPECT_EQ(concat({}), "");
  EXPECT_EQ(concat({std::string_view(), "a"}), "a") << "a text without memory is no number";
}

TEST(Concat, WritesWholeNumbersOfEachWidthAndSign) {
  EXPECT_EQ(concat({-1, ",", int8_t{-128}, ",", uint8_t{255}, ",", int32_t{7}}), "-1,-128,255,7");
  EXPECT_EQ(concat({std::numeric_limits<uint64_t>::max()}), "18446744073709551615");
  EXPECT_EQ(concat({std::numeric_limits<int64_t>::min()}), "-9223372036854775808");
}

TEST(Concat, KeepsBytesOfAllValues) {
  const std::string bytes("a\0b", 3);
  EXPECT_EQ(concat({bytes, "%s"}), bytes + "%s");
}

}  // namespace
}  // namespace coterie
