#include "base/json/json_scanner.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cstdlib>

#include "base/random.h"

namespace coterie {
namespace {

std::optional<float> number_of(std::string_view text) {
  JsonScanner json(text);
  float value = 0;
  if (!json.number(value) || !json.end()) return std::nullopt;
  return value;
}

bool is_json(std::string_view text) {
  JsonScanner json(text);
  std::string_view seen;
  return json.skip(seen) && json.end();
}

TEST(JsonScannerNumber, IsWhatStrtofReads) {
  for (const char* const text :
       {"0", "-0", "1", "-1.5", "0.1", "16777217", "16777216", "9999999", "99999999", "0.30000001", "3.4028235e38",
        "1e-46", "1.17549435e-38", "1e10", "123456.7", "0.0000001", "12345678.5", "5e-324",
        "0.00000000000000000000000000000000000000000001"}) {
    const auto value = number_of(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(std::bit_cast<uint32_t>(*value), std::bit_cast<uint32_t>(std::strtof(text, nullptr))) << text;
  }
}

TEST(JsonScannerNumber, OfRandomFloatsComesBackAsItWas) {
  Prng prng(22);
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<uint32_t>(prng.next());
    const float value = i % 2 == 0 ? std::bit_cast<float>(bits) : static_cast<float>(bits % 100'000) / 1000.0f;
    if (!(std::abs(value) <= 3.4e38f)) continue;
    char text[64];
    const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
    const auto again = number_of(std::string_view(text, static_cast<size_t>(end - text)));
    ASSERT_TRUE(again) << value;
    ASSERT_EQ(std::bit_cast<uint32_t>(*again), std::bit_cast<uint32_t>(value)) << std::string(text, end);
  }
}

TEST(JsonScannerNumber, RefusesWhatJsonDoesNotKnow) {
  for (const char* const text :
       {"",     "NaN",   "nan",    "Infinity", "-Infinity", "+1",   ".5", "1.",     "01",    "-",    "1e",  "1e+",
        "0x10", "1e999", "-1e999", "1 2",      "--1",       "1.e5", "00", "3.5e38", "\"1\"", "true", "null"}) {
    EXPECT_FALSE(number_of(text)) << text;
  }
}

TEST(JsonScannerInteger, HasItsRange) {
  int32_t value = 0;
  EXPECT_TRUE(JsonScanner("-2147483648").integer32(value));
  EXPECT_EQ(value, INT32_MIN);
  EXPECT_FALSE(JsonScanner("2147483648").integer32(value));
  EXPECT_FALSE(JsonScanner("1.0").integer32(value));
  uint64_t size = 0;
  EXPECT_TRUE(JsonScanner("18446744073709551615").unsigned_integer(size));
  EXPECT_FALSE(JsonScanner("18446744073709551616").unsigned_integer(size));
  EXPECT_FALSE(JsonScanner("-1").unsigned_integer(size));
}

TEST(JsonScanner, TakesValuesAndNothingElse) {
  EXPECT_TRUE(is_json(R"( {"a" : [1, -2.5e3, "x\u00e9\ud83d\ude00\n", true, false, null, {}, []]} )"));
  for (const char* const text :
       {"", "{", "[1,]", "{\"a\":1,}", "{a:1}", "[1 2]", "tru", "\"\\x\"", "\"\\ud800\"", "\"\\udc00\"", "\"a",
        "\"\x01\"", "\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "// c\n1", "{\"a\" 1}", "]", "[1]]"}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(JsonScanner, IsNotNestedWithoutEnd) {
  const std::string deep(JsonScanner::kNestingMax, '['), closed(JsonScanner::kNestingMax, ']');
  EXPECT_TRUE(is_json(deep + closed));
  EXPECT_FALSE(is_json("[" + deep + closed + "]"));
  EXPECT_FALSE(is_json(std::string(1'000'000, '[')));
}

TEST(JsonScanner, DecodesWhatItWrites) {
  const std::string text = "a\"b\\c\n\x01\x7f \xc3\xa9";
  std::string written, again;
  append_json_string(written, text);
  JsonScanner json(written);
  ASSERT_TRUE(json.string(again) && json.end());
  EXPECT_EQ(again, text);
}

}  // namespace
}  // namespace coterie
