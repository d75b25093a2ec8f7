#include "secure/crypto/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/random.h"
#include "secure/crypto/sha256_lanes.h"
#include "secure/crypto/sha256_stream.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

// Exactly this many random bytes, `offset` behind a multiple of 64: ASan sees whoever reads past their end.
class Exact {
 public:
  Exact(size_t size, size_t offset, uint64_t seed)
      : memory_(new(std::align_val_t{64}) uint8_t[offset + size]), bytes_(memory_.get() + offset, size) {
    Prng prng(seed);
    for (uint8_t& byte : bytes_) byte = static_cast<uint8_t>(prng.next());
  }
  ByteView view() const { return bytes_; }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  std::unique_ptr<uint8_t[], Free> memory_;
  std::span<uint8_t> bytes_;
};

std::vector<size_t> lane_counts_of_this_cpu() {
#if COT_HAS_SHA256_LANES
  switch (cpu_simd_level()) {
    case SimdLevel::avx512: return {8, 16};
    case SimdLevel::avx2: return {8};
    case SimdLevel::baseline: break;
  }
#endif
  return {};
}

// FIPS 180-2 appendix B and the empty message.
TEST(Sha256, GivesThePublishedAnswers) {
  EXPECT_EQ(sha256(ByteView{}).hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(as_bytes("abc")).hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")).hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(Bytes(1'000'000, 'a')).hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Every place the end of the message can have in its last block, and both ways the prefix can be joined to it.
TEST(Sha256Portable, EqualsSha256ForEveryLength) {
  for (size_t size = 0; size < 200; ++size) {
    const Exact message(size, 1, size);
    EXPECT_EQ(sha256_portable({}, message.view()), sha256(message.view())) << size << " bytes";
    for (const size_t cut : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size / 2}) {
      if (cut > size) continue;
      EXPECT_EQ(sha256_portable(message.view().first(cut), message.view().subspan(cut)), sha256(message.view()))
          << size;
    }
  }
}

TEST(Sha256Portable, GivesThePublishedAnswers) {
  EXPECT_EQ(sha256_portable({}, {}).hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_portable(as_bytes("a"), as_bytes("bc")).hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_portable({}, Bytes(1'000'000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, WithAPrefixIsTheHashOfBothJoined) {
  for (size_t size : {0u, 1u, 54u, 55u, 63u, 64u, 65u, 4096u}) {
    Bytes joined(size + 1, 0x5a);
    joined[0] = 0x01;
    EXPECT_EQ(sha256(0x01, ByteView(joined).subspan(1)), sha256(joined)) << size << " bytes";
  }
}

// Every size class: one block, two, an odd number, a leaf; every alignment a caller can have; both lane widths.
TEST(Sha256Lanes, EqualLibcryptoForEverySizeAndAlignment) {
  if (lane_counts_of_this_cpu().empty()) GTEST_SKIP() << "no wide vectors here";
  for (const size_t lanes : lane_counts_of_this_cpu()) {
    for (const size_t message_bytes : {64u, 128u, 192u, 448u, 512u, 1024u, 4096u}) {
      for (size_t offset = 0; offset<64; offset += message_bytes> 512 ? 13 : 1) {
        const Exact messages(lanes * message_bytes, offset, message_bytes + offset);
        std::vector<Digest> fast(lanes), plain(lanes);
        sha256_lanes(lanes, 0x01, messages.view().data(), message_bytes, fast.data());
        sha256_many_reference(0x01, messages.view(), message_bytes, plain);
        ASSERT_EQ(fast, plain) << lanes << " lanes of " << message_bytes << " bytes at offset " << offset;
      }
    }
  }
}

TEST(Sha256Lanes, KeepEachLanesMessageApart) {
  for (const size_t lanes : lane_counts_of_this_cpu()) {
    Bytes messages(lanes * 64);
    const auto hash = [&] {
      std::vector<Digest> digests(lanes);
      sha256_lanes(lanes, 0, messages.data(), 64, digests.data());
      return digests;
    };
    const std::vector<Digest> before = hash();
    for (size_t lane = 0; lane < lanes; ++lane) {
      messages[lane * 64 + lane] ^= 0x80;
      const std::vector<Digest> after = hash();
      for (size_t other = 0; other < lanes; ++other) EXPECT_EQ(after[other] == before[other], other != lane) << lane;
      messages[lane * 64 + lane] ^= 0x80;
    }
  }
}

TEST(Sha256Lanes, RefuseWhatTheyCannotHash) {
  const test::ThrowingAsserts guard;
  const Bytes messages(16 * 64);
  std::vector<Digest> out(16);
  EXPECT_THROW(sha256_lanes(8, 0, messages.data(), 63, out.data()), AssertionFailure);
  EXPECT_THROW(sha256_lanes(8, 0, messages.data(), 0, out.data()), AssertionFailure);
  EXPECT_THROW(sha256_lanes(4, 0, messages.data(), 64, out.data()), AssertionFailure);
}

TEST(Sha256Many, EqualsOneByOneForAnyCountAndAnyLength) {
  for (const size_t message_bytes : {0u, 1u, 55u, 63u, 64u, 65u, 100u, 128u, 4096u}) {
    for (const size_t count : {0u, 1u, 7u, 8u, 9u, 15u, 16u, 17u, 33u, 64u}) {
      const Exact messages(count * message_bytes, 3, count);
      std::vector<Digest> many(count), plain(count);
      sha256_many(0x00, messages.view(), message_bytes, many);
      sha256_many_reference(0x00, messages.view(), message_bytes, plain);
      ASSERT_EQ(many, plain) << count << " messages of " << message_bytes << " bytes";
    }
  }
}

TEST(Sha256Many, InsistsThatTheSizesFit) {
  const test::ThrowingAsserts guard;
  std::vector<Digest> out(2);
  EXPECT_THROW(sha256_many(0, Bytes(127), 64, out), AssertionFailure);
  EXPECT_THROW(sha256_many_reference(0, Bytes(127), 64, out), AssertionFailure);
}

}  // namespace
}  // namespace coterie
