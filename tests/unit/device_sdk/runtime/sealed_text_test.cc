#include "device_sdk/runtime/sealed_text.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/support/toy_cipher.h"

namespace coterie::test {
namespace {

constexpr size_t kHead = 64, kPiece = 65536;

Bytes text_of(size_t size) {
  Bytes text(size);
  Prng prng(size);
  for (uint8_t& byte : text) byte = static_cast<uint8_t>(prng.next());
  return text;
}

const Digest kSubject = content_digest(as_bytes("a model"));

Bytes sealed(const Bytes& text, const ToyCipher& cipher, size_t write_bytes = 1000) {
  Bytes out;
  Sealer sealer(cipher, kSubject, text.size(), [&out](ByteView bytes) -> Status {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return {};
  });
  for (size_t i = 0; i < text.size(); i += write_bytes) {
    EXPECT_OK(sealer.write(ByteView(text).subspan(i, std::min(write_bytes, text.size() - i))));
  }
  EXPECT_OK(sealer.finish());
  return out;
}

TEST(SealedText, OpensToTheTextHoweverItWasWritten) {
  for (const size_t size : {size_t{1}, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece}) {
    for (const size_t write_bytes : {size_t{1000}, kPiece, 4 * kPiece}) {
      SCOPED_TRACE(std::to_string(size) + " in writes of " + std::to_string(write_bytes));
      const ToyCipher cipher("key");
      const Bytes text = text_of(size);
      const Bytes made = sealed(text, cipher, write_bytes);
      EXPECT_TRUE(is_sealed(made));
      EXPECT_EQ(made.size(), sealed_bytes(size));
      const Result<Bytes> opened = open_sealed(made, cipher, kSubject);
      ASSERT_OK(opened);
      EXPECT_EQ(*opened, text);
    }
  }
}

TEST(SealedText, HidesTheTextAndIsAnotherEachTime) {
  const ToyCipher cipher("key");
  const Bytes text(1000, 'a');
  const Bytes first = sealed(text, cipher), second = sealed(text, cipher);
  EXPECT_EQ(as_text(first).find("aaaa"), std::string_view::npos);
  EXPECT_FALSE(std::equal(first.begin() + kHead, first.end(), second.begin() + kHead));
}

TEST(SealedText, IsRefusedWithAnyByteChangedAndUnderAnotherKey) {
  const ToyCipher cipher("key");
  const Bytes made = sealed(text_of(300), cipher);
  for (size_t i = 0; i < made.size(); ++i) {
    Bytes changed = made;
    changed[i] ^= 0x10;
    EXPECT_FALSE(open_sealed(changed, cipher, kSubject)) << i;
  }
  for (size_t size = 0; size < made.size(); ++size) {
    EXPECT_ERROR(open_sealed(Bytes(made.begin(), made.begin() + static_cast<ptrdiff_t>(size)), cipher, kSubject),
                 ErrorCode::malformed, "encrypted text")
        << size;
  }
  EXPECT_ERROR(open_sealed(made, ToyCipher("another"), kSubject), ErrorCode::permission_denied,
               "another key, or forged");
  EXPECT_ERROR(open_sealed(made, cipher, content_digest(as_bytes("b"))), ErrorCode::conflict, "another model");
  Bytes newer = made;
  newer[7] = 2;
  EXPECT_ERROR(open_sealed(newer, cipher, kSubject), ErrorCode::unsupported_version, "version 2");
}

TEST(SealedText, IsRefusedWithItsPiecesInAnotherOrderOrLeftOut) {
  const ToyCipher cipher("key");
  const Bytes made = sealed(text_of(3 * kPiece), cipher);
  constexpr ptrdiff_t kSealedPiece = kPiece + kCipherTagBytes;
  const auto piece = [&](ptrdiff_t i) { return made.begin() + kHead + i * kSealedPiece; };
  Bytes swapped = made;
  std::copy(piece(1), piece(2), swapped.begin() + kHead);
  std::copy(piece(0), piece(1), swapped.begin() + kHead + kSealedPiece);
  EXPECT_ERROR(open_sealed(swapped, cipher, kSubject), ErrorCode::permission_denied, "forged");
  Bytes shorter(made.begin(), piece(2));
  shorter[56 + 2] = 2;  // the size says so too
  EXPECT_ERROR(open_sealed(shorter, cipher, kSubject), ErrorCode::permission_denied, "forged");
}

TEST(SealedText, ThatPromisesMoreThanThereIsIsRefused) {
  const ToyCipher cipher("key");
  Bytes made = sealed(text_of(300), cipher);
  std::fill_n(made.begin() + 56, 8, uint8_t{0xff});
  EXPECT_ERROR(open_sealed(made, cipher, kSubject), ErrorCode::malformed, "not what its head promises");
}

TEST(SealedText, EndsWithTheSinksError) {
  const ToyCipher cipher("key");
  Sealer sealer(cipher, kSubject, kPiece,
                [](ByteView) -> Status { return Error(ErrorCode::storage_full, "the test's disk"); });
  EXPECT_ERROR(sealer.write(text_of(kPiece)), ErrorCode::storage_full, "disk");
}

}  // namespace
}  // namespace coterie::test
