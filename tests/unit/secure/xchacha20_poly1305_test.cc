#include "secure/crypto/xchacha20_poly1305.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

CipherKey key_from(const std::string& hex) {
  const Bytes bytes = *from_hex(hex);
  return CipherKey{std::span<const uint8_t, 32>(bytes)};
}

struct Sealed {
  Bytes text;
  std::array<uint8_t, kCipherTagBytes> tag{};
};

const std::string kKey = "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f";
const Bytes kNonce = *from_hex("404142434445464748494a4b4c4d4e4f5051525354555657");
const Bytes kContext = *from_hex("50515253c0c1c2c3c4c5c6c7");
constexpr std::string_view kText =
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
    "would be it.";

AuthenticatedCipher::Nonce nonce_of(const Bytes& bytes) {
  return AuthenticatedCipher::Nonce(bytes.data(), kCipherNonceBytes);
}

Sealed sealed() {
  Sealed made{Bytes(kText.begin(), kText.end())};
  make_xchacha20_poly1305(key_from(kKey))->seal(nonce_of(kNonce), kContext, made.text, made.tag);
  return made;
}

// draft-irtf-cfrg-xchacha-03, appendix A.3.1
TEST(XChaCha20Poly1305, GivesTheAnswerOfItsSpecification) {
  const Sealed made = sealed();
  EXPECT_EQ(to_hex(made.text),
            "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
            "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
            "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
            "21f9664c97637da9768812f615c68b13b52e");
  EXPECT_EQ(to_hex(made.tag), "c0875924c1c7987947deafd8780acf49");
}

TEST(XChaCha20Poly1305, OpensWhatItSealedAndNothingElse) {
  const auto cipher = make_xchacha20_poly1305(key_from(kKey));
  Sealed right = sealed();
  ASSERT_TRUE(cipher->open(nonce_of(kNonce), kContext, right.text, right.tag));
  EXPECT_EQ(as_text(right.text), kText);

  for (size_t bit = 0; bit < 8 * (kText.size() + kCipherTagBytes); ++bit) {
    Sealed flipped = sealed();
    uint8_t& byte = bit / 8 < kText.size() ? flipped.text[bit / 8] : flipped.tag[bit / 8 - kText.size()];
    byte ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(cipher->open(nonce_of(kNonce), kContext, flipped.text, flipped.tag)) << bit;
  }
  Bytes other_nonce = kNonce, other_context = kContext;
  other_nonce.back() ^= 1;
  other_context.front() ^= 1;
  Sealed made = sealed();
  EXPECT_FALSE(cipher->open(nonce_of(other_nonce), kContext, made.text, made.tag));
  made = sealed();
  EXPECT_FALSE(cipher->open(nonce_of(kNonce), other_context, made.text, made.tag));
  made = sealed();
  EXPECT_FALSE(make_xchacha20_poly1305(CipherKey())->open(nonce_of(kNonce), kContext, made.text, made.tag));
}

TEST(XChaCha20Poly1305, SealsAMessageAsTextAndTag) {
  const Sealed made = sealed();
  Bytes message(kText.size() + kCipherTagBytes);
  seal_xchacha20_poly1305(key_from(kKey), nonce_of(kNonce), kContext, as_bytes(kText), message);
  EXPECT_EQ(to_hex(message), to_hex(made.text) + to_hex(made.tag));
  Bytes text(kText.size());
  ASSERT_OK(open_xchacha20_poly1305(key_from(kKey), nonce_of(kNonce), kContext, message, text));
  EXPECT_EQ(as_text(text), kText);

  Bytes in_place = message;
  ASSERT_OK(open_xchacha20_poly1305(key_from(kKey), nonce_of(kNonce), kContext, in_place,
                                    std::span(in_place).first(kText.size())));
  EXPECT_EQ(as_text(ByteView(in_place).first(kText.size())), kText);
}

TEST(XChaCha20Poly1305, OpensNoOtherMessage) {
  Bytes message(kText.size() + kCipherTagBytes);
  seal_xchacha20_poly1305(key_from(kKey), nonce_of(kNonce), kContext, as_bytes(kText), message);
  const auto refuses = [](ByteView sealed, size_t size, const Bytes& nonce, const Bytes& context,
                          std::string_view words) {
    Bytes text(size, 0xa5);
    EXPECT_ERROR(open_xchacha20_poly1305(key_from(kKey), nonce_of(nonce), context, sealed, text), ErrorCode::malformed,
                 words);
    EXPECT_EQ(text, Bytes(size)) << "what did not verify must not be seen";
  };
  for (size_t bit = 0; bit < 8 * message.size(); bit += 5) {
    message[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    refuses(message, kText.size(), kNonce, kContext, "does not open");
    message[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
  Bytes other_nonce = kNonce, other_context = kContext;
  other_nonce[0] ^= 1;
  other_context.pop_back();
  refuses(message, kText.size(), other_nonce, kContext, "does not open");
  refuses(message, kText.size(), kNonce, other_context, "does not open");
  for (size_t size = 0; size < message.size(); ++size) {
    const ByteView cut = ByteView(message).first(size);
    refuses(cut, kText.size(), kNonce, kContext, "expected " + std::to_string(message.size()));
    if (size >= kCipherTagBytes) refuses(cut, size - kCipherTagBytes, kNonce, kContext, "does not open");
  }
  refuses({}, 0, kNonce, kContext, "0 bytes, expected 16");
}

TEST(XChaCha20Poly1305, DrawsNoncesThatDiffer) {
  const auto cipher = make_xchacha20_poly1305(CipherKey());
  std::array<uint8_t, kCipherNonceBytes> a{}, b{};
  cipher->fill_random(a);
  cipher->fill_random(b);
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace coterie
