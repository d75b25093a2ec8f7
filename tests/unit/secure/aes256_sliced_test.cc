// The AES that an SDK without OpenSSL has, beside libcrypto's.
#include "secure/crypto/aes256_sliced.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "secure/crypto/stream_cipher.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

// FIPS 197, appendix C.3, has one block; SP 800-38A's counters begin elsewhere. Libcrypto has passed both.
TEST(Aes256Sliced, MakesTheStreamsOfLibcrypto) {
  Prng prng(3);
  for (int i = 0; i < 100; ++i) {
    Bytes key(32);
    for (uint8_t& byte : key) byte = static_cast<uint8_t>(prng.below(256));
    const Secret<32> secret{std::span<const uint8_t, 32>(key)};
    const uint64_t block = i < 8 ? static_cast<uint64_t>(i) : prng.below((kKeyStreamBytesMax >> 4) - 4);
    const Result<KeyStream> stream = KeyStream::make(CipherSuite::aes256_ctr, secret);
    ASSERT_OK(stream);
    Bytes expected(Aes256Sliced::kBatchBytes), found(Aes256Sliced::kBatchBytes);
    stream->write(block * 16, expected);
    Aes256Sliced(secret.reveal()).key_stream(block, std::span<uint8_t, Aes256Sliced::kBatchBytes>(found));
    EXPECT_EQ(to_hex(found), to_hex(expected)) << "key " << to_hex(key) << ", block " << block;
  }
}

}  // namespace
}  // namespace coterie
