#include "base/text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace coterie {
namespace {

TEST(Utf8, IsWholeCodePointsInTheirShortestForm) {
  for (const char* text :
       {"", "word", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const char* text : {"\x80", "\xc3", "a\xe2\x82", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3(", "\xe2\x82("}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

// Each code point, encoded by hand.
TEST(Utf8, KnowsEveryCodePoint) {
  for (uint32_t point = 0; point < 0x110000; ++point) {
    std::string text;
    const auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (point < 0x80) put(point);
    else if (point < 0x800) put(0xc0 | point >> 6), put(0x80 | (point & 63));
    else if (point < 0x10000) put(0xe0 | point >> 12), put(0x80 | (point >> 6 & 63)), put(0x80 | (point & 63));
    else
      put(0xf0 | point >> 18), put(0x80 | (point >> 12 & 63)), put(0x80 | (point >> 6 & 63)), put(0x80 | (point & 63));
    const bool is_surrogate = point >= 0xd800 && point < 0xe000;
    ASSERT_EQ(is_utf8(text), !is_surrogate) << point;
  }
}

}  // namespace
}  // namespace coterie
