#include "secure/crypto/stream_cipher.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"
#include "tests/support/throwing_asserts.h"
#include "tests/unit/secure/vectors/stream_cipher_vectors.h"

namespace coterie {
namespace {

using Block = std::array<uint8_t, 16>;

Secret<32> key_of(std::string_view hex) { return Secret<32>(std::span<const uint8_t, 32>(*from_hex(hex))); }

KeyStream stream_of(CipherSuite suite, std::string_view key) { return *KeyStream::make(suite, key_of(key)); }

Bytes written(const KeyStream& stream, uint64_t offset, size_t size) {
  Bytes out(size, 0xa5);  // not zeros: what was there must not matter
  stream.write(offset, out);
  return out;
}

// One block of AES-256, by libcrypto's ECB.
Block aes_block(std::string_view key, const Block& text) {
  EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
  Block out{};
  int size = 0;
  EXPECT_EQ(EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), nullptr, from_hex(key)->data(), nullptr), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context, out.data(), &size, text.data(), 16), 1);
  EVP_CIPHER_CTX_free(context);
  return out;
}

Block counter_of(uint64_t block) {
  Block counter{};
  for (size_t i = 0; i < 8; ++i) counter[15 - i] = static_cast<uint8_t>(block >> 8 * i);
  return counter;
}

// Shows that the judge of the next test is a good judge.
TEST(KeyStream, IsJudgedByAnImplementationOfSp80038a) {
  const Bytes plain = *from_hex(vectors::kCtrAes256Plaintext);
  Block counter{};
  std::ranges::copy(*from_hex(vectors::kCtrAes256FirstCounter), counter.begin());
  Bytes cipher;
  for (size_t at = 0; at < plain.size(); at += 16) {
    const Block stream = aes_block(vectors::kCtrAes256Key, counter);
    for (size_t i = 0; i < 16; ++i) cipher.push_back(plain[at + i] ^ stream[i]);
    for (size_t i = 16; i-- > 0 && ++counter[i] == 0;) {
    }
  }
  EXPECT_EQ(to_hex(cipher), vectors::kCtrAes256Ciphertext);
}

TEST(KeyStream, OfAesIsTheEncryptedBlockNumbers) {
  const KeyStream stream = stream_of(CipherSuite::aes256_ctr, vectors::kCtrAes256Key);
  for (const uint64_t block : {uint64_t{0}, uint64_t{1}, uint64_t{255}, uint64_t{256}, uint64_t{65'535},
                               uint64_t{0x12345678}, kKeyStreamBytesMax / 16 - 1}) {
    const Block expected = aes_block(vectors::kCtrAes256Key, counter_of(block));
    EXPECT_EQ(to_hex(written(stream, 16 * block, 16)), to_hex(expected)) << "block " << block;
  }
}

TEST(KeyStream, OfChaCha20GivesTheBlocksOfRfc8439) {
  for (const vectors::ChaChaBlock& vector : vectors::kChaChaBlocks) {
    const KeyStream stream = stream_of(CipherSuite::chacha20, vector.key);
    EXPECT_EQ(to_hex(written(stream, 64 * vector.counter, 64)), vector.block) << "counter " << vector.counter;
  }
}

TEST(KeyStream, GivesTheKnownMegabytes) {
  const Bytes aes = written(stream_of(CipherSuite::aes256_ctr, vectors::kCountingKey), 0, 1 << 20);
  EXPECT_EQ(to_hex(ByteView(aes).first(32)), vectors::kAesFirst32);
  EXPECT_EQ(to_hex(ByteView(aes).last(32)), vectors::kAesLast32);
  EXPECT_EQ(sha256(aes).hex(), vectors::kAesSha256);
  const Bytes chacha = written(stream_of(CipherSuite::chacha20, vectors::kCountingKey), 0, 1 << 20);
  EXPECT_EQ(sha256(chacha).hex(), vectors::kChaChaSha256);
}

TEST(KeyStream, IsTheSameFromEveryOffset) {
  for (const CipherSuite suite : {CipherSuite::aes256_ctr, CipherSuite::chacha20}) {
    const KeyStream stream = stream_of(suite, vectors::kCountingKey);
    const Bytes whole = written(stream, 0, 20'000);
    Prng prng(1);
    for (int i = 0; i < 300; ++i) {
      const size_t offset = i < 130 ? static_cast<size_t>(i) : prng.below(whole.size());
      const size_t size = prng.below(whole.size() - offset + 1);
      const Bytes part = written(stream, offset, size);
      ASSERT_TRUE(std::ranges::equal(part, ByteView(whole).subspan(offset, size)))
          << offset << ", " << size << " bytes";
    }
  }
}

// The counters of both suites have bytes that move only beyond 4 GiB.
TEST(KeyStream, IsTheSameFromOffsetsBeyondFourGigabytes) {
  for (const CipherSuite suite : {CipherSuite::aes256_ctr, CipherSuite::chacha20}) {
    const KeyStream stream = stream_of(suite, vectors::kCountingKey);
    for (const uint64_t middle : {uint64_t{1} << 32, uint64_t{1} << 35, kKeyStreamBytesMax - 100}) {
      const Bytes whole = written(stream, middle - 100, 200);
      for (size_t skip = 1; skip < 200; skip += 7) {
        const Bytes part = written(stream, middle - 100 + skip, 200 - skip);
        ASSERT_TRUE(std::ranges::equal(part, ByteView(whole).subspan(skip))) << middle << " + " << skip;
      }
      EXPECT_NE(whole, written(stream, 0, 200));
    }
  }
}

TEST(KeyStream, DiffersBetweenKeysAndSuites) {
  const std::string other = std::string(vectors::kCountingKey).replace(63, 1, "e");
  const Bytes aes = written(stream_of(CipherSuite::aes256_ctr, vectors::kCountingKey), 0, 64);
  EXPECT_NE(aes, written(stream_of(CipherSuite::aes256_ctr, other), 0, 64));
  EXPECT_NE(aes, written(stream_of(CipherSuite::chacha20, vectors::kCountingKey), 0, 64));
}

// Streams with different keys take turns on one thread, and one stream is read by several.
TEST(KeyStream, CanBeReadBySeveralThreads) {
  const KeyStream first = stream_of(CipherSuite::aes256_ctr, vectors::kCountingKey);
  const KeyStream second = stream_of(CipherSuite::aes256_ctr, vectors::kCtrAes256Key);
  const Bytes first_bytes = written(first, 0, 4000), second_bytes = written(second, 0, 4000);
  std::vector<Bytes> seen(8);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        seen[2 * t] = written(first, 0, 4000);
        seen[2 * t + 1] = written(second, 0, 4000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < 4; ++t) {
    EXPECT_EQ(seen[2 * t], first_bytes);
    EXPECT_EQ(seen[2 * t + 1], second_bytes);
  }
}

TEST(KeyStream, EndsBeforeItsBlocksTell) {
  const KeyStream stream = stream_of(CipherSuite::aes256_ctr, vectors::kCountingKey);
  const test::ThrowingAsserts throwing;
  EXPECT_NO_THROW(written(stream, kKeyStreamBytesMax, 0));
  EXPECT_THROW(written(stream, kKeyStreamBytesMax, 1), AssertionFailure);
  EXPECT_THROW(written(stream, ~uint64_t{0}, 2), AssertionFailure);
}

TEST(KeyStream, HasNoOtherSuites) {
  for (const int number : {0, 3, 255}) {
    EXPECT_ERROR(KeyStream::make(static_cast<CipherSuite>(number), key_of(vectors::kCountingKey)),
                 ErrorCode::invalid_argument, "suite " + std::to_string(number));
  }
}

}  // namespace
}  // namespace coterie
