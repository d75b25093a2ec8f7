#include "base/bytes.h"
#include "base/text/base64.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

std::string url(std::string_view text) { return to_base64url(as_bytes(text)); }

TEST(Hex, IsLowerCaseTwoDigitsAByte) {
  EXPECT_EQ(to_hex({}), "");
  EXPECT_EQ(to_hex(Bytes{0x00, 0x0f, 0xa0, 0xff}), "000fa0ff");
  EXPECT_EQ(*from_hex("000fa0ff"), (Bytes{0x00, 0x0f, 0xa0, 0xff}));
  EXPECT_EQ(*from_hex(""), Bytes());
}

TEST(Hex, RejectsEverythingButItsOneForm) {
  for (const std::string_view text : {"0", "abc", "0G", "g0", "0F", "0x00", " 00", "00 ", "0-", "/0", ":0", "`0"}) {
    SCOPED_TRACE(std::string(text));
    EXPECT_ERROR(from_hex(text), ErrorCode::malformed, "hexadecimal");
  }
  EXPECT_ERROR(from_hex(std::string_view("0\0", 2)), ErrorCode::malformed, "hexadecimal");
  EXPECT_ERROR(from_hex(std::string_view("0000").substr(0, 3)), ErrorCode::malformed, "hexadecimal")
      << "the digit behind the view is not its own";
}

// RFC 4648 section 10, without the padding.
TEST(Base64Url, MatchesTheVectorsOfRfc4648) {
  EXPECT_EQ(url(""), "");
  EXPECT_EQ(url("f"), "Zg");
  EXPECT_EQ(url("fo"), "Zm8");
  EXPECT_EQ(url("foo"), "Zm9v");
  EXPECT_EQ(url("foob"), "Zm9vYg");
  EXPECT_EQ(url("fooba"), "Zm9vYmE");
  EXPECT_EQ(url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64url(Bytes{0xfb, 0xff, 0xbf}), "-_-_") << "the URL alphabet, section 5";
}

TEST(Base64, HasThePaddingAndTheOtherAlphabet) {
  EXPECT_EQ(to_base64(as_bytes("")), "");
  EXPECT_EQ(to_base64(as_bytes("f")), "Zg==");
  EXPECT_EQ(to_base64(as_bytes("fo")), "Zm8=");
  EXPECT_EQ(to_base64(as_bytes("foo")), "Zm9v");
  EXPECT_EQ(to_base64(Bytes{0xfb, 0xff, 0xbf}), "+/+/");
}

TEST(Base64Url, RejectsPaddingForeignLettersAndImpossibleLengths) {
  for (const std::string_view text :
       {"Zg==", "Zm8=", "Zm9v=", "A", "AAAAA", "Z", "Zm9+", "Zm9/", "Zm 9v", "Zm9v\n", "Zm.v"}) {
    SCOPED_TRACE(std::string(text));
    EXPECT_ERROR(from_base64url(text), ErrorCode::malformed, "base64url");
  }
}

TEST(Base64Url, RejectsUnusedBitsThatAreNotZero) {
  // "Zg" is 'f'; the letters h..v in second place carry the same byte plus non-zero unused bits.
  EXPECT_OK(from_base64url("Zg"));
  for (const std::string_view text : {"Zh", "Zi", "Zk", "Zo", "Zv"}) {
    EXPECT_ERROR(from_base64url(text), ErrorCode::malformed, "canonical");
  }
  EXPECT_OK(from_base64url("Zm8"));
  for (const std::string_view text : {"Zm9", "Zm-", "Zm_"}) {
    EXPECT_ERROR(from_base64url(text), ErrorCode::malformed, "canonical");
  }
}

TEST(Base64Url, OfTwoCharactersExactlyThe256CanonicalOnesDecode) {
  int decoded = 0;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b)};
      const Result<Bytes> bytes = from_base64url(text);
      if (!bytes) continue;
      ++decoded;
      EXPECT_EQ(to_base64url(*bytes), text);
    }
  }
  EXPECT_EQ(decoded, 256);
}

TEST(TextForms, RoundTripRandomBytesOfEveryLength) {
  constexpr uint64_t kSeed = 41;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Prng prng(kSeed);
  for (size_t size = 0; size < 200; ++size) {
    Bytes bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng.next());
    EXPECT_EQ(*from_hex(to_hex(bytes)), bytes);
    EXPECT_EQ(*from_base64url(to_base64url(bytes)), bytes);
    EXPECT_EQ(to_base64url(bytes).size(), (size * 4 + 2) / 3);
  }
}

TEST(Digest, ReadsExactly64HexDigits) {
  const std::string text(64, 'a');
  const Result<Digest> digest = Digest::from_hex(text);
  ASSERT_OK(digest);
  EXPECT_EQ(digest->hex(), text);
  EXPECT_EQ(digest->bytes[31], 0xaa);
  EXPECT_ERROR(Digest::from_hex(std::string(62, 'a')), ErrorCode::malformed, "64 hexadecimal digits, got 62");
  EXPECT_ERROR(Digest::from_hex(std::string(66, 'a')), ErrorCode::malformed, "64 hexadecimal digits, got 66");
  EXPECT_ERROR(Digest::from_hex(std::string(64, 'A')), ErrorCode::malformed, "hexadecimal");
}

TEST(Digest, OrdersByItsBytes) {
  Digest low;
  Digest high;
  high.bytes[0] = 1;
  low.bytes[31] = 255;
  EXPECT_LT(low, high);
  EXPECT_EQ(low, low);
}

TEST(Views, SeeTheSameBytesAsTextAndAsBytes) {
  const std::string_view text("a\0\xff", 3);
  EXPECT_EQ(as_bytes(text).size(), 3u);
  EXPECT_EQ(as_bytes(text)[2], 0xff);
  EXPECT_EQ(as_text(as_bytes(text)), text);
}

}  // namespace
}  // namespace coterie
